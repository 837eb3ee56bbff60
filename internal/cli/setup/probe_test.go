package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"tare/internal/cli/command"
	"tare/internal/cli/selection"
	"tare/internal/driver"
	"tare/internal/testkit/must"
)

// trying is a driver whose modes say by their names what comes of trying them.
type trying struct{ now, most *atomic.Int32 }

func (trying) Modes() []driver.Mode {
	var out []driver.Mode
	for i := range 12 {
		out = append(out, driver.Mode{ID: fmt.Sprintf("try/%s-%d", []string{"ok", "lacking", "broken"}[i%3], i)})
	}
	return append(out, driver.Mode{ID: "try/net:NAME"})
}

func (d trying) Probe(_ context.Context, o driver.Order) error {
	n := d.now.Add(1)
	defer d.now.Add(-1)
	for m := d.most.Load(); n > m && !d.most.CompareAndSwap(m, n); m = d.most.Load() {
	}
	switch {
	case strings.Contains(o.Mode, "lacking"):
		return &driver.Unsupported{Mode: o.Mode, Reason: "no\nkernel"}
	case strings.Contains(o.Mode, "broken"):
		return errors.New("broke\tdown")
	}
	return nil
}

func (trying) Provision(context.Context, driver.Order) (*driver.Path, error) { return nil, nil }

// Every mode is tried, few at a time, and told of in its own place.
func TestProbe(t *testing.T) {
	var stderr bytes.Buffer
	d := trying{new(atomic.Int32), new(atomic.Int32)}
	a := commands{Streams: command.Streams{Stderr: &stderr}, hosts: selection.Hosts{Target: driver.Target{Drivers: driver.Registry{d}}}}
	names := must.Get(a.hosts.Chosen(nil))(t)
	got := a.probe(t.Context(), names)
	var want []probed
	for i, m := range d.Modes()[:12] {
		want = append(want, []probed{{m.ID, "ok", ""}, {m.ID, "unsupported", "no kernel"}, {m.ID, "failed", "broke down"}}[i%3])
	}
	want = append(want, probed{"try/net:NAME", probedNeeds, "replace NAME by a name, as in tare modes --probe try/net:mine"})
	must.Equal(t, want, got)
	if most := d.most.Load(); most > mostProbes {
		t.Errorf("%d at a time", most)
	}
	var stdout bytes.Buffer
	listReasons(&stdout, got)
	reasons := `
try/lacking-1, try/lacking-4, try/lacking-7, try/lacking-10: unsupported: no kernel

try/broken-2, try/broken-5, try/broken-8, try/broken-11: failed: broke down

try/net:NAME: name needed: replace NAME by a name, as in tare modes --probe try/net:mine
`
	must.Equal(t, reasons, stdout.String())
	if lines := strings.Count(stderr.String(), "\n"); lines != 13 || !strings.Contains(stderr.String(), "tried 13 of 13: ") {
		t.Errorf("%d lines of progress: %s", lines, &stderr)
	}
}

// Who gives up waits for no mode.
func TestProbeGivenUp(t *testing.T) {
	d := trying{new(atomic.Int32), new(atomic.Int32)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, p := range (commands{Streams: command.Streams{Stderr: &bytes.Buffer{}}, hosts: selection.Hosts{Target: driver.Target{Drivers: driver.Registry{d}}}}).probe(ctx, []string{"try/ok-0", "try/net:mine"}) {
		must.True(t, p.Status == probedFailed && p.Reason == "context canceled", "%+v", p)
	}
	must.True(t, d.most.Load() <= 0, "a mode was tried")
}
