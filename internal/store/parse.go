package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"tare/internal/result"
)

// fileEnd is the position of the end of the last complete line, and whether its newline
// is missing.
type fileEnd struct {
	offset    int64
	noNewline bool
}

// parser reads one line of trials.ndjson, with or without its newline.
type parser func(line []byte) (result.Trial, error)

// parseTrials reads lines of trials. An error names its line, counted from 1. Only a last
// line that was cut is accepted. A cut line is recognised: its newline is missing, and no
// proper prefix of a JSON object is valid JSON. Blank lines are skipped. Trials that take more
// than most bytes of memory are an error.
func parseTrials(r io.Reader, parse parser, most int64) (trials []result.Trial, end fileEnd, line int, err error) {
	in, text, taken := bufio.NewReaderSize(r, readSize), []byte(nil), int64(0)
	for line = 1; ; line++ {
		text, err = readLine(in, text[:0])
		last := errors.Is(err, io.EOF)
		switch {
		case err != nil && !last:
			return nil, end, line, err
		case last && !json.Valid(text): // cut, or nothing
			return trials, end, line, nil
		}
		if object := bytes.TrimSuffix(text, []byte{'\n'}); len(bytes.TrimSpace(object)) > 0 {
			t, err := result.Trial{}, checkMemory(object, maxLineMemory)
			if err == nil {
				t, err = parse(object)
			}
			if taken += memoryOf(&t); err == nil && taken > most {
				err = fmt.Errorf("%w: the trials up to this line take more than the maximum of %d MB of memory", errTooLarge, most/1e6)
			}
			if err != nil {
				return nil, end, line, err
			}
			trials = append(trials, t)
		}
		end = fileEnd{end.offset + int64(len(text)), last}
		if last {
			return trials, end, line, nil
		}
	}
}

// readSize is how many bytes are read at a time.
const readSize = 64 << 10

// readLine appends a line with its newline. It returns io.EOF with what follows the last newline, and
// an error of its own for a line that is too long.
func readLine(in *bufio.Reader, to []byte) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(to)+len(part) > maxLine {
			return nil, fmt.Errorf("line of more than %d bytes", maxLine)
		}
		to = append(to, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return to, err
		}
	}
}
