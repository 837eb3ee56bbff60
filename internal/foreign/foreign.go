// Package foreign reads measurements of other programs, to be analysed like a run: comma-separated
// tables, and the format of Go's benchmarks that benchstat reads.
//
// A reader refuses ambiguous input, such as text in a number, a negative or infinite value, or a
// block that appears twice, and reports the lines. Input that can be analysed but needs attention
// results in a warning.
package foreign

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"tare/internal/analysis"
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
	Auto  Format = "auto"  // detected from the first lines
	CSV   Format = "csv"   // a header line with the columns mode and value
	Bench Format = "bench" // of Go's benchmarks
)

// Formats returns the formats that a user can choose.
func Formats() []Format { return []Format{Auto, CSV, Bench} }

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
}

// Numbers is the result of reading, ready for analysis.
type Numbers struct {
	Input    analysis.Input // its Rule has only the pairing
	Pairing  Pairing
	Warnings []result.Warning
}

// Read reads all sources together. Errors name the file and the lines: a missing header or column,
// values that are not numbers, negative or not finite, two values in the same place, different
// units within a metric, an unknown baseline, no values at all, or more than its limits: 150 000
// values, 20 000 combinations of mode, workload and metric, 10 000 names of a kind, 1 MiB a line.
func Read(sources []Source, opt Options) (Numbers, error) {
	b := newBuilder(opt, len(sources))
	for _, s := range sources {
		b.file = s.Name
		b.in = &recordReader{from: s.R}
		b.in.next()
		in := bufio.NewReaderSize(b.in, readSize)
		if start, _ := in.Peek(3); bytes.Equal(start, []byte("\xef\xbb\xbf")) {
			in.Discard(3) //nolint:errcheck // already read successfully
		}
		format := opt.Format
		if format == "" || format == Auto {
			format = sniff(in)
		}
		var err error
		switch format {
		case CSV:
			err = b.csv(in)
		case Bench:
			err = b.bench(in)
		default:
			err = fmt.Errorf("unknown format %q", format)
		}
		if err != nil {
			return Numbers{}, fmt.Errorf("read %s: %w", s.Name, err)
		}
	}
	return b.finish()
}

// sniff detects the format from the first non-empty line.
func sniff(in *bufio.Reader) Format {
	start, _ := in.Peek(32 << 10)
	for line := range bytes.Lines(start) {
		text := strings.TrimSpace(string(line))
		if text == "" {
			continue
		}
		key, _, ok := config(text)
		if ok && !strings.ContainsAny(key, ",;\t") || strings.HasPrefix(text, "Benchmark") || strings.HasPrefix(text, "Unit ") ||
			strings.HasPrefix(text, "=== RUN") || strings.HasPrefix(text, "testing: ") {
			return Bench
		}
		return CSV
	}
	return CSV
}

// fileStem returns the name of a file without folders and extension.
func fileStem(name string) string {
	base := filepath.Base(name)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
