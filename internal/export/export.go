// Package export writes a run in the formats of other programs.
package export

import (
	"io"
	"slices"

	"tare/internal/result"
)

// Format is one export format.
type Format struct {
	Name  string
	What  string // description for the help, one line
	Write func(w io.Writer, run result.Run, trials []result.Trial) error
}

// All lists the formats.
func All() []Format {
	return []Format{
		{"csv", "one line for each value of each trial, as tare judge reads it", CSV},
		{"cells", "one line for each cell: value, ratio, verdict, as CSV", Cells},
		{"json", "run.json", JSON},
		{"benchfmt", "Go benchmarks, for benchstat -col mode", Benchfmt},
		{"openmetrics", "gauges for Prometheus and its textfile collector", OpenMetrics},
		{"md", "the first screen with the warnings, as Markdown", Markdown},
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
