package result

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A line that parses can be written, and reads back as itself.
func FuzzParseTrial(f *testing.F) {
	f.Add([]byte(lineOf(1)))
	whole, err := encodeTrial(sample(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"schema":"tare.trial/1.9","mode":"m","workload":"w","status":"failed","metrics":{"x":-0.0},"series":null}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		tr, err := parseTrial(line)
		if err != nil {
			return
		}
		first, err := encodeTrial(tr)
		if err != nil {
			t.Fatalf("cannot be written: %v", err)
		}
		again, err := parseTrial(first)
		if err != nil {
			t.Fatalf("cannot be read back: %v", err)
		}
		if second, err := encodeTrial(again); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v\n%s\n%s", err, first, second)
		}
	})
}

// Whatever the file holds, what OpenAppend would keep reads alike.
func FuzzParseTrials(f *testing.F) {
	f.Add([]byte(lineOf(1) + "\n" + lineOf(2)))
	f.Add([]byte(lineOf(1) + "\n\n" + lineOf(2)[:50]))
	f.Fuzz(func(t *testing.T, data []byte) {
		trials, end, _, err := parseTrials(bytes.NewReader(data))
		if err != nil {
			return
		}
		kept := append([]byte{}, data[:end.offset]...)
		if end.noNewline {
			kept = append(kept, '\n')
		}
		if len(kept) > 0 && kept[len(kept)-1] != '\n' {
			t.Fatalf("kept %q does not end a line", kept)
		}
		again, end, _, err := parseTrials(bytes.NewReader(kept))
		if diff := cmp.Diff(trials, again); err != nil || diff != "" || end.offset != int64(len(kept)) || end.noNewline {
			t.Fatalf("%v, %+v of %d bytes, %s", err, end, len(kept), diff)
		}
	})
}
