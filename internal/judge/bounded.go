package judge

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"tare/internal/result"
)

// The limits of the input, which keep a reader below 256 MB whatever the input is.
const (
	// maxRecord is the maximum length of a line, or of a record with line breaks in quotes,
	// in bytes.
	maxRecord = 1 << 20
	// maxInput is the maximum size of a file, in bytes.
	maxInput = 1 << 30
	// readSize is how many bytes are read at once.
	readSize = 64 << 10
	// maxValues is the maximum number of values of all files.
	maxValues = 150_000
	// maxNames is the maximum number of modes, workloads, metrics and blocks each.
	maxNames = 10_000
	// maxCells is the maximum number of different combinations of mode, workload and metric.
	maxCells = 20_000
)

var (
	// errRecord means that a line or a record does not end.
	errRecord = errors.New("longer than 1 MiB")
	// errInput means that a file does not end.
	errInput = errors.New("more than 1 GiB")
)

// recordReader fails when more is read than a record may have since the last call of next.
type recordReader struct {
	from  io.Reader
	left  int
	total int64
}

// next allows another record to be read, and what a buffer takes of those that follow.
func (r *recordReader) next() { r.left = maxRecord + readSize }

func (r *recordReader) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, errRecord
	}
	n, err := r.from.Read(b[:min(len(b), r.left)])
	r.left -= n
	if r.total += int64(n); r.total > maxInput {
		return 0, errInput
	}
	return n, err
}

// tooMany is the error for more than the limit of something.
func tooMany(most int, what string) error {
	return fmt.Errorf("more than %d %s, the maximum of one command; judge a part of them at a time", most, what)
}

// add appends a row. An error ends the reading.
func (b *builder) add(r row) error {
	c := cell{r.mode, r.workload, r.metric}
	b.cells[c] = struct{}{}
	switch {
	case len(b.rows) == maxValues:
		return tooMany(maxValues, "values")
	case len(b.cells) > maxCells:
		return tooMany(maxCells, "combinations of mode, workload and metric")
	}
	b.rows = append(b.rows, r)
	return nil
}

// full is the error for more names than the limit, also of rows with a problem, or for so
// many problems that the rest of the input has no other.
func (b *builder) full() error {
	if b.more > maxValues {
		return b.problem()
	}
	for _, n := range []struct {
		of   *names
		what string
	}{{&b.modes, "modes"}, {&b.loads, "workloads"}, {&b.metricAt, "metrics"}, {&b.blocks, "blocks"}} {
		if len(n.of.list) > maxNames {
			return tooMany(maxNames, n.what)
		}
	}
	if len(b.modes.list)*len(b.loads.list) > result.MaxPairs {
		return tooMany(result.MaxPairs, "pairs of a mode and a workload")
	}
	return nil
}

// decoded is a text as UTF-8 without a byte order mark. A text that begins with the mark of UTF-16, as
// PowerShell writes with >, is converted.
func decoded(r io.Reader) *bufio.Reader {
	return bufio.NewReaderSize(transform.NewReader(r, unicode.BOMOverride(transform.Nop)), readSize)
}
