//go:build !linux

package tool

import (
	"io"
	"os"
)

// outputFile is a file into which a tool writes.
type outputFile struct {
	path   string   // for the tool
	passed *os.File // nil: the tool opens it by its path
}

func newOutputFile() (*outputFile, error) {
	f, err := os.CreateTemp("", "tare-tool-*.xml")
	if err != nil {
		return nil, err
	}
	return &outputFile{path: f.Name()}, f.Close()
}

// read returns up to maxOutput bytes of what the tool wrote.
func (f *outputFile) read() []byte {
	from, err := os.Open(f.path)
	if err != nil {
		return nil
	}
	defer from.Close()
	text, err := io.ReadAll(io.LimitReader(from, maxOutput))
	if err != nil {
		return nil
	}
	return text
}

func (f *outputFile) close() { os.Remove(f.path) }
