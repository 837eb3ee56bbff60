package agent_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// fannedIn is how a trial of several clients of one server ended.
type fannedIn struct {
	clients, servers []traffic.Report
	errs             []error
}

// run runs a trial of several clients, each with do.
func run(trials []*agent.Trial, do func(*agent.Trial) (client, server traffic.Report, err error)) fannedIn {
	n := len(trials)
	f := fannedIn{make([]traffic.Report, n), make([]traffic.Report, n), make([]error, n)}
	var wg sync.WaitGroup
	for i, trial := range trials {
		wg.Go(func() { f.clients[i], f.servers[i], f.errs[i] = do(trial) })
	}
	wg.Wait()
	return f
}

// together does a step of all trials at once. The first one that fails ends the others.
func together(t *testing.T, trials []*agent.Trial, step func(*agent.Trial) (*traffic.Held, error)) {
	t.Helper()
	must.Do(t, run(trials, func(one *agent.Trial) (c, s traffic.Report, err error) {
		if _, err = step(one); err != nil {
			one.Abort(t.Context())
		}
		return c, s, err
	}).errs...)
}

// check requires that the server, whose report the first trial has, answered what the clients asked.
func (f fannedIn) check(t *testing.T, kind string) {
	t.Helper()
	must.Do(t, f.errs...)
	var asked int64
	var connections int
	for i, c := range f.clients {
		if asked += c.Messages; c.Messages == 0 {
			t.Errorf("%s: client %d has no answer", kind, i+1)
		}
		connections += c.Connections
		if i > 0 {
			must.EqualFor(t, kind+": the other trials' report of the server", int64(0), f.servers[i].Messages)
		}
	}
	must.EqualFor(t, kind+": answers", asked, f.servers[0].Messages)
	must.EqualFor(t, kind+": connections", connections, f.servers[0].Connections)
}

// Several clients have one server, whose connections they share the number of, in one piece and in slices.
func TestFanIn(t *testing.T) {
	t.Parallel()
	clients, server := []*agent.Client{begin(t), begin(t), begin(t)}, begin(t)
	for _, kind := range []string{"tcp_rr", "http", "http2", "grpc"} {
		p := long(params(kind))
		p.FanIn, p.KeepAlive, p.ResponseSize = 3, "on", 100
		trials := must.Get(agent.BeginFanIn(t.Context(), clients, server, slices.Repeat([]traffic.Params{p}, 3), p))(t)
		must.True(t, slices.Equal(trials[0].Endpoints(), trials[2].Endpoints()), "%v and %v", trials[0].Endpoints(), trials[2].Endpoints())
		run(trials, func(one *agent.Trial) (traffic.Report, traffic.Report, error) { return one.Run(t.Context()) }).check(t, kind)

		p.Slice, p.Rounds = 20*time.Millisecond, 3
		trials = must.Get(agent.BeginFanIn(t.Context(), clients, server, slices.Repeat([]traffic.Params{p}, 3), p))(t)
		together(t, trials, func(one *agent.Trial) (*traffic.Held, error) { return one.Open(t.Context()) })
		for range p.Rounds {
			together(t, trials, func(one *agent.Trial) (*traffic.Held, error) { return one.Slice(t.Context(), p.Slice) })
		}
		run(trials, func(one *agent.Trial) (traffic.Report, traffic.Report, error) { return one.Close(t.Context()) }).check(t, kind+" in slices")
	}
}

// No client begins the timed part before all have warmed up: one has not ended while another has not connected.
func TestFanInBeginsTogether(t *testing.T) {
	clients, server := []*agent.Client{begin(t), begin(t)}, begin(t)
	for _, kind := range []string{"http", "http2", "grpc"} {
		p := long(params(kind))
		p.FanIn, p.KeepAlive, p.Warmup, p.Duration = 2, "on", 5*time.Millisecond, 20*time.Millisecond
		trials := must.Get(agent.BeginFanIn(t.Context(), clients, server, []traffic.Params{p, p}, p))(t)
		ended := make(chan error, 1)
		go func() {
			_, _, err := trials[0].Run(t.Context())
			ended <- err
		}()
		select {
		case err := <-ended:
			t.Fatalf("%s: a client ended alone: %v", kind, err)
		case <-time.After(10 * (p.Warmup + p.Duration)):
		}
		second, _, err := trials[1].Run(t.Context())
		must.Do(t, err, <-ended)
		must.True(t, second.Messages > 0 && second.Window.Seconds >= p.Duration.Seconds()/2, "%s: %+v", kind, second)
	}
}

// If one client fails, so do the others, and each says why that one did.
func TestFanInFails(t *testing.T) {
	t.Parallel()
	server := begin(t)
	for _, c := range []struct {
		name string
		fail func(*agent.Client)
		want string
	}{
		{"cancelled", func(c *agent.Client) { _ = c.Abort(t.Context()) }, "the controller cancelled the trial"},
		{"killed", func(c *agent.Client) {
			if p, err := os.FindProcess(c.Hello.PID); err == nil {
				_ = p.Kill()
			}
		}, "killed"},
	} {
		clients := []*agent.Client{begin(t), begin(t)}
		p := long(params("tcp_rr"))
		p.FanIn, p.Duration, p.Progress = 2, 5*time.Minute, traffic.MinProgressInterval
		var once sync.Once // when exchanges are made
		clients[0].Watch(func(traffic.Progress) { once.Do(func() { go c.fail(clients[1]) }) })
		trials := must.Get(agent.BeginFanIn(t.Context(), clients, server, []traffic.Params{p, p}, p))(t)
		f := run(trials, func(one *agent.Trial) (traffic.Report, traffic.Report, error) { return one.Run(t.Context()) })
		for i, err := range f.errs {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: client %d: %v", c.name, i+1, err)
			}
		}
	}

	// A client that cannot connect ends the trial of those that wait for it.
	clients := []*agent.Client{begin(t), begin(t)}
	p := long(params("tcp_rr"))
	p.FanIn = 2
	stranger := p
	stranger.Token = "fedcba9876543210"
	trials := must.Get(agent.BeginFanIn(t.Context(), clients, server, []traffic.Params{p, stranger}, p))(t)
	for i, err := range run(trials, func(one *agent.Trial) (traffic.Report, traffic.Report, error) { return one.Run(t.Context()) }).errs {
		must.FailFor(t, []string{"client 1", "client 2"}[i], err, "wait for the server")
	}

	// A client that fails while another has warmed up and waits for it.
	p = long(params("http"))
	p.FanIn, p.KeepAlive = 2, "on"
	trials = must.Get(agent.BeginFanIn(t.Context(), clients, server, []traffic.Params{p, p}, p))(t)
	ended := make(chan error, 1)
	go func() {
		_, _, err := trials[0].Run(t.Context())
		ended <- err
	}()
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no luck"))
	_, _, err := trials[1].Run(cancelled)
	must.FailFor(t, "the client that fails", err, "no luck")
	must.FailFor(t, "the client that waits for it", <-ended, "no luck")

	// The port of the server cannot be opened.
	p.Address = "192.0.2.1:1"
	_, err = agent.BeginFanIn(t.Context(), clients, server, []traffic.Params{p, p}, p)
	must.Fail(t, err, "192.0.2.1")
}
