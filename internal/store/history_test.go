package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// A history is the JSON that the standard library makes of it, whatever its texts.
func TestWriteHistory(t *testing.T) {
	text := "a<b>&\u2028\"\\\n\u00fc"
	for name, h := range map[string]result.History{
		"empty": {},
		"full": {Study: text, Hash: "h", FalseAlarms: 1e-21, MinRuns: 7, LeftOut: []result.LeftOut{{Path: text, Reason: text}}, Machines: []result.MachineHistory{{
			Machine: text, Facts: []result.Fact{}, Runs: []result.HistoryRun{{ID: "r", Started: time.Unix(1, 5).UTC(), Changed: []result.Difference{{Name: text}}}},
			Series: []result.HistorySeries{{Mode: text, Points: []result.HistoryPoint{{Ratio: 1e21}, {Run: 1, Ratio: 0.1, RatioCI: &result.Interval{1e-7, 3}}},
				Changes: []result.ChangePoint{{Point: 1, Before: 1, After: 2, P: 1e-9}}, Spread: new(0.25)}, {}},
		}}},
	} {
		var want, got bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetIndent("", "  ")
		must.Do(t, enc.Encode(h), WriteHistory(&got, h))
		must.EqualFor(t, name, want.String(), got.String())
	}
	var got bytes.Buffer
	must.Do(t, WriteHistory(&got, result.History{Study: "\xff"})) // a path need not be UTF-8
	var back result.History
	must.Do(t, json.Unmarshal(got.Bytes(), &back))
	must.EqualFor(t, "no UTF-8", "\ufffd", back.Study)
}

// It is written piece by piece, and a writer that fails ends it.
func TestWriteHistoryInPieces(t *testing.T) {
	h := result.History{Machines: []result.MachineHistory{{Series: []result.HistorySeries{{Points: make([]result.HistoryPoint, 50_000)}}}}}
	w := &pieces{most: 1 << 40}
	must.Do(t, WriteHistory(w, h))
	must.True(t, w.largest <= w.all/8, "%d of %d bytes are written at once", w.largest, w.all)
	w = &pieces{most: w.all / 2}
	err := WriteHistory(w, h)
	must.True(t, errors.Is(err, io.ErrShortWrite), "%v", err)
}

// pieces counts what is written, and fails beyond most bytes.
type pieces struct{ largest, all, most int }

func (p *pieces) Write(b []byte) (int, error) {
	p.largest, p.all = max(p.largest, len(b)), p.all+len(b)
	if p.all > p.most {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}
