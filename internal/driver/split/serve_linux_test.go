package split

import (
	"context"
	"io"
	"testing"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/lab"
	"tare/internal/runid"
	"tare/internal/testkit/must"
)

// slow is a driver with a mode whose set-up takes until it is cancelled, and which then returns a path all the same.
type slow struct {
	building, closed chan struct{}
}

func (slow) Modes() []driver.Mode                         { return []driver.Mode{{ID: "slow"}} }
func (slow) Probe(context.Context, labdriver.Order) error { return nil }
func (d slow) close(context.Context) error                { close(d.closed); return nil }
func (d slow) Provision(ctx context.Context, _ labdriver.Order) (*driver.Path, error) {
	close(d.building)
	<-ctx.Done()
	return &driver.Path{Close: d.close}, nil
}

// A half that builds a mode cancels this, and removes what it has made, as soon as the controller gives the mode up or ends, also
// when requests wait.
func TestGivenUpWhileItBuilds(t *testing.T) {
	for name, after := range map[string]struct {
		requests []op
		ends     bool
	}{
		"given up":                     {requests: []op{opClose}},
		"the controller ends":          {ends: true},
		"given up, and it ends":        {requests: []op{opClose}, ends: true},
		"given up, again, and it ends": {requests: []op{opSnapshot, opGo, opClose, opClose}, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			run := must.Get(runid.New())(t)
			defer run.Release()
			slot := must.Get(lab.FreeSlots())(t)[0]
			in, requests := io.Pipe()
			replies, out := io.Pipe()
			d := slow{make(chan struct{}), make(chan struct{})}
			ended := make(chan error, 1)
			go func() { ended <- Serve(in, out, run.ID, "test", []labdriver.Driver{d}); out.Close() }()
			r := wire.NewReader(replies)
			var first hello
			must.Do(t, r.Read(&first))
			go func() { _, _ = io.Copy(io.Discard, replies) }()
			must.Do(t, wire.Write(requests, request{ID: 1, Op: opBuild, Order: &order{Kind: buildAlone, Mode: "slow", Slot: slot}}))
			<-d.building
			go func() {
				for i, what := range after.requests {
					_ = wire.Write(requests, request{ID: uint64(i) + 2, Op: what}) // the half may have ended
				}
				if after.ends {
					requests.Close()
				}
			}()
			select {
			case <-d.closed:
			case <-time.After(10 * time.Second):
				t.Fatal("10 s later the mode is not closed")
			}
			requests.Close()
			must.Do(t, <-ended)
		})
	}
}
