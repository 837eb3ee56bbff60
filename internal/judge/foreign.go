// Package judge reads measurements of other programs, to be analysed like a run: tables, as CSV or as
// people draw them, the output of iperf3, netperf, fortio and k8s-netperf, and the format of Go's benchmarks
// that benchstat reads. What it does not read it names, with the way to convert it.
//
// A reader refuses ambiguous input, such as text in a number, a negative or infinite value, or a
// block that appears twice, and reports the lines. Input that can be analysed but needs attention
// results in a warning.
package judge

import (
	"fmt"
	"io"

	"tare/internal/analysis/verdict"
	"tare/internal/result"
)

// Source is a file to read. Name is for messages, and is the mode if each file has one.
type Source struct {
	Name string
	R    io.Reader
}

// Format is the format of the input.
type Format string

// The formats.
const (
	Auto    Format = "auto"    // detected from the first lines
	CSV     Format = "csv"     // a header line with the columns mode and value, or those of k8s-netperf
	Table   Format = "table"   // the same with lines between columns: Markdown, a grid, pipes
	Bench   Format = "bench"   // of Go's benchmarks
	JSON    Format = "json"    // of iperf3, fortio or k8s-netperf
	Netperf Format = "netperf" // the CSV of netperf -- -o
)

// Formats returns the formats that a user can choose.
func Formats() []Format { return []Format{Auto, CSV, Table, Bench, JSON, Netperf} }

// Pairing is how values are paired with those of the baseline.
type Pairing string

// The pairings.
const (
	ByBlock Pairing = "block" // values of the same block
	ByOrder Pairing = "order" // the first value with the first, the second with the second
	NoPairs Pairing = "none"  // all with all
)

// Pairings returns the pairings that a user can choose.
func Pairings() []Pairing { return []Pairing{ByBlock, ByOrder, NoPairs} }

// Options are the options of Read.
type Options struct {
	Format   Format  // empty for Auto
	Pairing  Pairing // empty: ByBlock if the input has blocks, else NoPairs
	Baseline string  // empty: the one in the input, else "host", else the first mode
	// NoBaseline compares no mode with a baseline, whatever the input says.
	NoBaseline bool
	Better     result.Direction // of metrics whose direction is not known otherwise
	// ModeBy is the source of a benchmark's mode, in benchstat's notation: .file, /KEY for a part
	// of its name, KEY for a line of configuration. Empty: .file if there are several files, else
	// /mode, else mode.
	ModeBy string
	// Modes name the modes of files that have no names of modes in them. The first one that
	// matches counts.
	Modes []NamedMode
}

// Numbers is the result of reading, ready for analysis.
type Numbers struct {
	Input    verdict.Input // its Rule has only the pairing
	Pairing  Pairing
	Warnings []result.Warning
}

// Read reads all sources together. Errors name the file and the lines: a missing header or column,
// values that are not numbers, negative or not finite, two values in the same place, different
// units within a metric, a metric whose direction is not known, values that differ in a text that is not
// used, an unknown baseline, no values at all, or more than its limits: 150 000 values, 20 000 combinations
// of mode, workload and metric, 10 000 names of a kind, 1 MiB a line.
func Read(sources []Source, opt Options) (Numbers, error) {
	b := newBuilder(opt, sources)
	for _, s := range sources {
		b.file = s.Name
		if err := b.source(s.R, opt.Format); err != nil {
			return Numbers{}, fmt.Errorf("read %s: %w", s.Name, err)
		}
	}
	return b.finish()
}

// source reads one source.
func (b *builder) source(r io.Reader, format Format) error {
	b.in = &recordReader{from: r}
	b.in.next()
	in := decoded(b.in)
	if format == "" || format == Auto {
		start, _ := in.Peek(32 << 10)
		var err error
		if format, err = sniff(start); err != nil {
			return err
		}
	}
	switch format {
	case CSV:
		return b.csv(in)
	case Table:
		return b.drawn(in)
	case Bench:
		return b.bench(in)
	case JSON:
		return b.json(in)
	case Netperf:
		return b.netperf(in)
	}
	return fmt.Errorf("unknown format %q", format)
}
