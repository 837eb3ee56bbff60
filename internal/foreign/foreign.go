// Package foreign reads numbers that something else measured, so that they can be
// judged as a run's own are: tables of comma-separated values, and the format of
// Go's benchmarks that benchstat reads.
//
// A reader refuses what it would have to guess: text in a number, a negative or
// infinite value, a block that is there twice. It names the lines. What can be
// judged all the same, but should be known, comes as a warning.
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

// Source is a file to read. Name is for messages, and gives the mode where each
// file holds one.
type Source struct {
	Name string
	R    io.Reader
}

// Format says how numbers are written.
type Format string

// The formats.
const (
	Auto  Format = "auto"  // told by the first lines
	CSV   Format = "csv"   // a header line with the columns mode and value
	Bench Format = "bench" // of Go's benchmarks
)

// Formats lists those that can be asked for.
func Formats() []Format { return []Format{Auto, CSV, Bench} }

// Pairing says how values are put beside those of the baseline.
type Pairing string

// The pairings.
const (
	ByBlock Pairing = "block" // those of one block
	ByOrder Pairing = "order" // the first with the first, the second with the second
	NoPairs Pairing = "none"  // all with all
)

// Pairings lists those that can be asked for.
func Pairings() []Pairing { return []Pairing{ByBlock, ByOrder, NoPairs} }

// Options say how to read.
type Options struct {
	Format   Format           // empty for Auto
	Pairing  Pairing          // empty: ByBlock if the numbers have blocks, else NoPairs
	Baseline string           // empty: what the numbers say, else "host", else the first mode
	Better   result.Direction // of metrics of which nothing else says it
	// ModeBy says what a benchmark's mode is taken from, as benchstat names it: .file,
	// /KEY for a part of its name, KEY for a line of configuration. Empty: .file if
	// there are several files, else /mode, else mode.
	ModeBy string
}

// Numbers are what was read, ready to be judged.
type Numbers struct {
	Input    analysis.Input // its Rule has the pairing only
	Pairing  Pairing
	Warnings []result.Warning
}

// Read reads all sources together. Errors name the file and the lines: no header or
// a column too few, values that are no numbers, negative or not finite, two values
// where there can be one, units that differ within a metric, a baseline that is not
// there, nothing at all.
func Read(sources []Source, opt Options) (Numbers, error) {
	b := newBuilder(opt, len(sources))
	for _, s := range sources {
		b.file = s.Name
		in := bufio.NewReaderSize(s.R, 64<<10)
		if start, _ := in.Peek(3); bytes.Equal(start, []byte("\xef\xbb\xbf")) {
			in.Discard(3) //nolint:errcheck // they were there just now
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

// sniff tells the format by the first line that says anything.
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

// fileStem is the name of a file without folders and ending.
func fileStem(name string) string {
	base := filepath.Base(name)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
