package store

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"tare/internal/result"
)

// WriteHistory writes a history as indented JSON, and a newline. It never has the whole text in memory, because that of
// 10 000 runs has over 100 MB. Errors: those of w; a value that is NaN or infinite.
func WriteHistory(w io.Writer, h result.History) error {
	if err := json.MarshalWrite(w, h, jsonv1.DefaultOptionsV1(), jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
