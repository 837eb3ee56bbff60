package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

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
// proper prefix of a JSON object is valid JSON. Blank lines are skipped. Memory for the
// expected number of trials is allocated beforehand. The processors parse in parallel, one
// batch of lines each; besides the trials only a few batches are in memory, of which one with
// a long line is parsed alone. Trials that take more than most bytes of memory are an error.
func parseTrials(r io.Reader, parse parser, expected int, most int64) (trials []result.Trial, end fileEnd, line int, err error) {
	workers := min(runtime.GOMAXPROCS(0), mostWorkers)
	todo, inOrder, stop := make(chan *batch), make(chan *batch, workers), make(chan struct{})
	spare := make(chan []byte, 2*workers+1) // buffers that have been parsed
	room := make(chan struct{}, 2*workers)  // places for batches, of which a long one takes all
	var wait sync.WaitGroup
	defer wait.Wait()
	defer close(stop)
	wait.Go(func() {
		defer close(inOrder)
		defer close(todo)
		batches(bufio.NewReaderSize(r, readSize), spare, func(b *batch) bool {
			b.places = min(cap(room), 1+int(decodedMemory(b.text)/batchMemory))
			for range b.places {
				select {
				case room <- struct{}{}:
				case <-stop:
					return false
				}
			}
			for _, to := range []chan *batch{inOrder, todo} {
				select {
				case to <- b:
				case <-stop:
					return false
				}
			}
			return true
		})
	})
	for range workers {
		wait.Go(func() {
			for b := range todo {
				text := b.text
				b.parse(parse)
				close(b.done)
				select {
				case spare <- text[:0]:
				default:
				}
			}
		})
	}
	trials = slices.Grow(trials, expected)
	taken := int64(0)
	for b := range inOrder {
		<-b.done
		if b.err != nil {
			return nil, end, b.line, b.err
		}
		if taken += b.memory; taken > most {
			return nil, end, b.line, fmt.Errorf("%w: the trials up to this line take more than the maximum of %d MB of memory", errTooLarge, most/1e6)
		}
		trials, end, line = append(trials, b.trials...), b.end, b.line
		for range b.places {
			<-room
		}
	}
	return trials, end, line, nil
}

const (
	batchSize = 256 << 10 // bytes of lines per batch
	readSize  = 64 << 10  // bytes per read
)

// batch is a number of consecutive lines.
type batch struct {
	text   []byte
	line   int   // number of its first line; once parsed, of the line after its last or of the line of err
	failed error // why nothing follows text, except for the end of the file
	done   chan struct{}

	places int // in memory, among all batches

	trials []result.Trial
	memory int64   // that the trials take, in bytes
	end    fileEnd // before parsing, that of the previous batch
	err    error
}

// batches splits the input into batches until give returns false. Every line except the
// last one ends in a newline.
func batches(in *bufio.Reader, spare <-chan []byte, give func(*batch) bool) {
	line, offset := 1, int64(0)
	for {
		b := &batch{line: line, end: fileEnd{offset: offset}, done: make(chan struct{})}
		select {
		case b.text = <-spare:
		default:
			b.text = make([]byte, 0, batchSize+readSize) // most lines are shorter than readSize
		}
		var err error
		for err == nil && len(b.text) < batchSize {
			if b.text, err = readLine(in, b.text); err == nil {
				line++
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			b.failed = err
		}
		offset += int64(len(b.text))
		if !give(b) || err != nil {
			return
		}
	}
}

// readLine appends a line with its newline. It returns io.EOF with what follows the last
// newline, and a separate error for a line that is too long, of which it appends nothing.
func readLine(in *bufio.Reader, to []byte) ([]byte, error) {
	start := len(to)
	for {
		part, err := in.ReadSlice('\n')
		if len(to)-start+len(part) > maxLine {
			return to[:start], fmt.Errorf("line of more than %d bytes", maxLine)
		}
		to = append(to, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			if err != nil && !errors.Is(err, io.EOF) {
				to = to[:start]
			}
			return to, err
		}
	}
}

// parse reads the lines of the batch.
func (b *batch) parse(parse parser) {
	b.trials = make([]result.Trial, 0, bytes.Count(b.text, []byte{'\n'})+1)
	for rest := b.text; len(rest) > 0; b.line++ {
		text, after, whole := bytes.Cut(rest, []byte{'\n'})
		if !whole && !json.Valid(text) {
			break // cut
		}
		if len(bytes.TrimSpace(text)) > 0 {
			t, err := result.Trial{}, checkMemory(text, maxLineMemory)
			if err == nil {
				t, err = parse(text)
			}
			if err != nil {
				b.err = err
				return
			}
			b.trials = append(b.trials, t)
			b.memory += memoryOf(&t)
		}
		b.end = fileEnd{b.end.offset + int64(len(rest)-len(after)), !whole}
		rest = after
	}
	b.err, b.text = b.failed, nil
}
