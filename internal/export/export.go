// Package export writes the trials of a run in the formats of other programs.
package export

import (
	"io"
	"slices"

	"tare/internal/result"
)

// Format is one way to write a run.
type Format struct {
	Name  string
	What  string // one line for the help
	Write func(w io.Writer, run result.Run, trials []result.Trial) error
}

// All lists the formats.
func All() []Format {
	return []Format{
		{"csv", "one line for each value of each trial, as tare judge reads it", CSV},
	}
}

// Named finds a format by name.
func Named(name string) (Format, bool) {
	i := slices.IndexFunc(All(), func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return All()[i], true
}
