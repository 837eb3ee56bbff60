// Package loopback runs trials of workloads over TCP on loopback, between every pair of implementations of their endpoints.
package loopback

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
	"tare/internal/timelimit"
	"tare/internal/traffic"
	"tare/internal/traffic/thread"
)

// Main runs the tests of a package in namespaces of their own, and fails if they leave a goroutine.
func Main(m *testing.M) {
	nstest.Alone()
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) // in a user namespace one waits for the end of the parent
}

// Pairing is a pair of implementations for the two endpoints of a trial.
type Pairing[P fmt.Stringer] struct{ Server, Client P }

func (w Pairing[P]) String() string {
	return w.Server.String() + " server, " + w.Client.String() + " client"
}

// Pairs returns all pairs of a system's implementations, of which the fastest is the first.
func Pairs[P fmt.Stringer](all []P) []Pairing[P] {
	f, p := all[0], all[len(all)-1]
	if f.String() == p.String() {
		return []Pairing[P]{{p, p}}
	}
	return []Pairing[P]{{f, f}, {f, p}, {p, f}, {p, p}}
}

// Cover returns two of the pairs for each of many cases, in which each endpoint is once fast
// and once portable. Adjacent cases get the other two, so that the cases together cover every
// pathway.
func Cover[P fmt.Stringer](all []P, i int) []Pairing[P] {
	both := Pairs(all)
	if len(both) == 1 {
		return both
	}
	if i%2 == 0 {
		return []Pairing[P]{both[0], both[3]}
	}
	return []Pairing[P]{both[1], both[2]}
}

// NewToken returns the token of a trial. Each has its own: a client of another test, or of another run of the tests on this machine,
// may dial a port that the kernel has given away again, and a datagram of an earlier trial may be late.
func NewToken() string { return fmt.Sprintf("%016x", rand.Uint64()) }

// Params is a short trial over loopback.
func Params(kind string) traffic.Params {
	return traffic.Params{
		Workload: study.Workload{Kind: kind, Streams: 1, WriteSize: 1400, RequestSize: 1, ResponseSize: 1, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer()},
		Address:  "127.0.0.1:0", Token: NewToken(), CPU: -1, Warmup: 20 * time.Millisecond, Duration: 150 * time.Millisecond,
	}
}

// KindOf returns the workload of a kind.
func KindOf(all []traffic.Workload, kind string) traffic.Workload {
	return all[slices.IndexFunc(all, func(w traffic.Workload) bool { return w.Spec().Kind == kind })]
}

// Served is the result of a server.
type Served struct {
	traffic.Report
	Err error
}

// Serve opens a trial's port and serves it in the background.
func Serve(ctx context.Context, t *testing.T, w traffic.Workload, p traffic.Params) (address string, end <-chan Served) {
	t.Helper()
	s := must.Get(w.Listen(p))(t)
	ch := make(chan Served, 1)
	go func() {
		r, err := s.Serve(ctx, nil)
		ch <- Served{r, err}
	}()
	return fmt.Sprintf("127.0.0.1:%d", s.Port()), ch
}

// Between runs a trial between two endpoints over loopback. One that hangs fails after a while.
func Between(ctx context.Context, client, server traffic.Workload, p traffic.Params) (c, s traffic.Report, err error) {
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scaled(30*time.Second))
	defer cancel()
	srv, err := server.Listen(p)
	if err != nil {
		return c, s, err
	}
	p.Address = fmt.Sprintf("127.0.0.1:%d", srv.Port())
	served, peer := make(chan error, 1), make(chan traffic.Report, 1)
	sctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	go func() {
		var err error
		s, err = srv.Serve(sctx, peer)
		served <- err
	}()
	if c, err = RunClient(ctx, client, p); err != nil {
		// As the controller does, but the server may have ended already.
		time.AfterFunc(2*time.Second, func() { giveUp(errors.New("the client failed")) })
	} else {
		peer <- c
	}
	return c, s, errors.Join(err, <-served)
}

// Grown is Between with a timed window, or a number of slices, that doubles until the window has traffic, and
// returns what it was in the end: a process that is not scheduled carries nothing for a while.
func Grown(ctx context.Context, client, server traffic.Workload, p traffic.Params) (used traffic.Params, c, s traffic.Report, err error) {
	for {
		c, s, err = Between(ctx, client, server, p)
		if err != nil || carries(p, c, s) || p.Duration > 5*time.Second {
			return p, c, s, err
		}
		p.Duration, p.Rounds = 2*p.Duration, 2*p.Rounds
	}
}

// carries reports whether the timed window has traffic, in both directions if it should.
func carries(p traffic.Params, client, server traffic.Report) bool {
	if p.Kind != "tcp_stream" {
		return client.Window.Messages > 0
	}
	c, s := client.Window, server.Window
	forward, reverse := c.Sent > 0 && s.Received > 0, s.Sent > 0 && c.Received > 0
	switch {
	case p.Both():
		return forward && reverse
	case p.Reverse():
		return reverse
	}
	return forward
}

// RunClient runs the client of a trial, in slices if it has any.
func RunClient(ctx context.Context, w traffic.Workload, p traffic.Params) (traffic.Report, error) {
	if p.Rounds == 0 {
		return w.Dial(ctx, p, nil)
	}
	session, err := w.(traffic.Sliced).Open(ctx, p)
	if err != nil {
		return traffic.Report{}, err
	}
	for range p.Rounds {
		if err := session.Slice(ctx, p.Slice); err != nil {
			return session.Close(), err
		}
	}
	return session.Close(), nil
}

// AtOnce runs subtests by their names, all at once: of parallel tests that wait for a limit only as many would wait at a time as there
// are CPUs.
func AtOnce(t *testing.T, tests map[string]func(*testing.T)) {
	t.Helper()
	var running sync.WaitGroup
	for name, test := range tests {
		running.Go(func() { t.Run(name, test) })
	}
	running.Wait()
}

// Room adds processors for threads in raw system calls, as an agent has them. Tests that run at once each have theirs.
func Room(t testing.TB) { t.Cleanup(thread.AddProcessors(6)) }
