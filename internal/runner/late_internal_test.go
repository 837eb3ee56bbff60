package runner

import (
	"context"
	"errors"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/testkit/must"
)

// Counters that a network card updates late are read again until they prove the path. The
// kernel's own are read once, and so are counters that cannot be read again.
func TestLateCounters(t *testing.T) {
	const counter = "a/eth0.tx_bytes"
	carried := []driver.Carried{{Forward: driver.Flow{Payload: 1 << 20}}}
	for name, c := range map[string]struct {
		late  time.Duration
		fails bool
		reads int
		holds bool
	}{
		"late":     {time.Hour, false, 3, true},
		"in time":  {0, false, 0, false},
		"it fails": {time.Hour, true, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			path := &driver.Path{Rules: []driver.Rule{{Counter: counter, Expect: driver.ForwardAtLeast}}, CountersLate: c.late}
			path.Snapshot = func(context.Context) (driver.Counters, error) {
				if reads++; c.fails {
					return nil, errors.New("gone")
				}
				n := uint64(1000)
				if reads == 3 {
					n = 2 << 20
				}
				return driver.Counters{counter: n}, nil
			}
			tr := &trialRun{tested: &modeUnderTest{path: path}, before: driver.Counters{counter: 0}}
			after := tr.lateCounters(t.Context(), driver.Counters{counter: 1000}, carried)
			must.Equal(t, []any{c.holds, c.reads}, []any{path.Prove(tr.before, after, carried) == nil, reads})
		})
	}
}
