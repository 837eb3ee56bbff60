//go:build linux

package runner_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/study"
)

// counted counts what its driver makes and what of that is closed. Before hand lets
// a test step in when a mode is about to be made for the nth time.
type counted struct {
	netns.Driver
	mu           sync.Mutex
	made, closed map[string]int
	before       func(mode string, nth int) error
}

func counting(before func(mode string, nth int) error) *counted {
	return &counted{made: map[string]int{}, closed: map[string]int{}, before: before}
}

func (c *counted) Provision(ctx context.Context, o labdriver.ModeSpec) (*driver.Path, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made[o.Mode]++
	if c.before != nil {
		if err := c.before(o.Mode, c.made[o.Mode]); err != nil {
			c.closed[o.Mode]++ // nothing of it is left
			return nil, err
		}
	}
	p, err := c.Driver.Provision(ctx, o)
	if err != nil {
		return nil, err
	}
	var once sync.Once
	shut := p.Close
	p.Close = func(ctx context.Context) error {
		once.Do(func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.closed[o.Mode]++
		})
		return shut(ctx)
	}
	return p, nil
}

// gone fails the test unless all that was made is closed.
func (c *counted) gone(t *testing.T) {
	t.Helper()
	for mode, n := range c.made {
		if c.closed[mode] != n {
			t.Errorf("%s was made %d times and closed %d times", mode, n, c.closed[mode])
		}
	}
}

func renewing(s *study.Study) { s.Blocks, s.Renew = 3, study.RenewEvery(1) }

func TestRenews(t *testing.T) {
	d := counting(nil)
	var events []live.Recreated
	run, _, err := weigh(t, d, []string{"host", "netns/macvlan"}, renewing, func(e live.Event) {
		if e, ok := e.(live.Recreated); ok {
			events = append(events, e)
		}
	})
	if err != nil || run.Trials.OK != 6 {
		t.Fatalf("%v, trials %+v", err, run.Trials)
	}
	if d.made["host"] != 3 || d.made["netns/macvlan"] != 3 {
		t.Errorf("made %v, want 3 times each", d.made)
	}
	d.gone(t)
	if len(events) != 2 || events[0].Block != 2 || len(events[0].Modes) != 2 || events[1].Block != 3 {
		t.Errorf("events %+v", events)
	}
}

func TestRenewsOnce(t *testing.T) {
	d := counting(nil)
	if _, _, err := weigh(t, d, []string{"host"}, func(s *study.Study) { s.Renew = study.RenewOnce() }, nil); err != nil {
		t.Fatal(err)
	}
	if d.made["host"] != 1 {
		t.Errorf("made %v, want once", d.made)
	}
	d.gone(t)
}

// A mode that cannot be made anew is tried once more, and then failed with the
// reason. The others go on, and what it had measured stays on disk.
func TestRenewalFails(t *testing.T) {
	for name, fails := range map[string]int{"once": 1, "twice": 2} {
		t.Run(name, func(t *testing.T) {
			d := counting(func(mode string, nth int) error {
				if mode == "netns/macvlan" && nth > 1 && nth <= 1+fails {
					return errors.New("no more devices")
				}
				return nil
			})
			run, _, err := weigh(t, d, []string{"host", "netns/macvlan"}, renewing, nil)
			if err != nil {
				t.Fatal(err)
			}
			d.gone(t)
			m := modeOf(t, run, "netns/macvlan")
			if fails == 1 && (m.Status != result.ModeMeasured || run.Trials.OK != 6) {
				t.Errorf("mode %+v, trials %+v", m, run.Trials)
			}
			if fails == 2 && (m.Status != result.ModeFailed || !strings.Contains(m.Reason, "made anew: no more devices") || run.Trials.OK != 4) {
				t.Errorf("mode %+v, trials %+v", m, run.Trials)
			}
		})
	}
}

// An interruption while a mode is being made anew leaves nothing behind and spoils
// no trial.
func TestInterruptedRenewal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := counting(func(mode string, nth int) error {
		if mode == "netns/macvlan" && nth == 2 {
			cancel()
		}
		return nil
	})
	run, _, err := weighUntil(ctx, t, nil, d, []string{"host", "netns/macvlan"}, renewing, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.gone(t)
	if run.Status != result.RunInterrupted || run.Trials.OK != 2 || modeOf(t, run, "netns/macvlan").Status != result.ModeMeasured {
		t.Errorf("status %s, trials %+v, mode %+v", run.Status, run.Trials, modeOf(t, run, "netns/macvlan"))
	}
}

// The control is the baseline once more, on a lab of its own, compared with it.
func TestControl(t *testing.T) {
	d := counting(nil)
	run, _, err := weigh(t, d, []string{"host"}, func(s *study.Study) {
		s.Control = true
		s.Modes = append(s.Modes, study.Mode{ID: study.ControlID, Mode: "host"})
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := modeOf(t, run, study.ControlID)
	if !m.Control || m.Baseline != "host" || m.Mode != "host" || d.made["host"] != 2 {
		t.Errorf("mode %+v, made %v", m, d.made)
	}
	ratios := 0
	for _, c := range run.Cells {
		if c.Mode == study.ControlID && c.Metric == "transaction_rate" && c.Ratio != nil {
			ratios++
		}
	}
	if ratios != 1 {
		t.Errorf("%d ratios of the control, want 1", ratios)
	}
}
