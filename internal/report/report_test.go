package report

import (
	"errors"
	"io"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// broken fails after some bytes.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriteErrors(t *testing.T) {
	for name, err := range map[string]error{
		"ChangesText":     ChangesText(broken{}, result.Changes{}, TextOptions{}),
		"ChangesMarkdown": ChangesMarkdown(broken{}, result.Changes{}),
		"ChangesHTML":     ChangesHTML(broken{}, result.Changes{}),
		"Text":            Prepare(Input{}).Text(broken{}, TextOptions{}),
		"Markdown":        Markdown(broken{}, Input{}),
		"HTML":            HTML(broken{}, Input{}),
	} {
		must.True(t, errors.Is(err, io.ErrClosedPipe), "%s: %v", name, err)
	}
}
