// Package reachability finds out when the server of a mode that is being set up is reached first. A server listens in the
// server's network stack as soon as both endpoints exist, and a client tries to connect to it from the client's stack, again and
// again, while the driver still builds the rest of the mode. Both are threads of this program, not agents: nothing is
// started in a sandbox, and all times are of one clock.
package reachability

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/driver"
	"tare/internal/timelimit"
	"tare/internal/traffic"
)

// Step is the time between two attempts to connect: by so much the times may be late.
const Step = time.Millisecond

// The traffic on the first connection that was answered, after the set-up: so many messages of at least that size to the server, each of which
// it sends back. A process that forwards them is then busy for long enough to be seen.
const (
	messages    = 64
	messageSize = 4 << 10
)

// limit is how long the server may take to answer, from when both endpoints exist.
func limit() time.Duration { return timelimit.Scaled(30 * time.Second) }

// Times are those of one set-up, in seconds. Sandbox, Connect, FirstByte and First200 are from when the driver began to make the
// server's sandbox.
type Times struct {
	Sandbox   float64 // until the sandbox existed
	Connect   float64 // until the first SYN was answered
	FirstByte float64 // until the first byte of an answer arrived
	First200  float64 // until a whole response of HTTP with status 200 arrived
	// Own is how long this program took from when both sandboxes existed until it sent the first SYN: the
	// server may have been reachable that much earlier.
	Own      float64
	Attempts int // connections that were tried, the last included
}

// seen is what the client saw.
type seen struct {
	first, connect, answered, whole time.Time
	attempts                        int
}

// times are the times of a set-up with what the client saw.
func times(at driver.SetupTimes, s seen) (Times, error) {
	since := func(t time.Time) float64 { return t.Sub(at.Begun).Seconds() }
	out := Times{Sandbox: since(at.Exists), Connect: since(s.connect), FirstByte: since(s.answered), First200: since(s.whole), Own: s.first.Sub(at.Both).Seconds(), Attempts: s.attempts}
	if out.Sandbox < 0 || out.Own < 0 || s.connect.Before(s.first) || s.answered.Before(s.connect) || s.whole.Before(s.answered) {
		return Times{}, fmt.Errorf("the moments of the set-up are out of order: %+v, %+v (a bug)", at, s)
	}
	return out, nil
}

// answered are the times of a set-up with what the driver saw. A server may be reached before the sandbox is known to exist.
func answered(at driver.SetupTimes, a driver.Answer) (Times, error) {
	since := func(t time.Time) float64 { return t.Sub(at.Begun).Seconds() }
	out := Times{Sandbox: since(at.Exists), Connect: since(a.Connected), FirstByte: since(a.FirstByte), First200: since(a.Whole), Own: max(0, a.First.Sub(at.Both).Seconds()), Attempts: a.Attempts}
	if out.Connect < 0 || out.FirstByte < out.Connect || out.First200 < out.FirstByte {
		return Times{}, fmt.Errorf("the moments of the set-up are out of order: %+v, %+v (a bug)", at, a)
	}
	return out, nil
}

// errNoPair means that the driver has not told when the endpoints existed.
var errNoPair = errors.New("the driver has not told when its endpoints existed (a bug)")

// errOtherStack means that no socket can be opened in an endpoint.
var errOtherStack = errors.New("its endpoints have network stacks of their own, in which this program cannot open sockets")

// Probe follows one set-up. It ends with Close.
type Probe struct {
	// Clock is for the driver's order.
	Clock *driver.SetupClock

	ipv6     bool
	late     time.Duration // by how much the server listens later; for tests
	ctx      context.Context
	cancel   context.CancelCauseFunc
	finished chan struct{} // closed when the client has ended; nil until both endpoints exist
	result   outcome
}

// outcome is what a client has ended with.
type outcome struct {
	seen
	ends ends
	err  error
}

// Begin returns a probe over an address family.
func Begin(ctx context.Context, ipv6 bool) *Probe {
	p := &Probe{ipv6: ipv6}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.Clock = &driver.SetupClock{OnPair: p.start, Reaches: true, IPv6: ipv6}
	return p
}

// ServerLate delays when the server listens, for tests.
func (p *Probe) ServerLate(by time.Duration) { p.late = by }

// Wait waits until the server has answered, and returns the times of the set-up. Call it when the driver has
// provisioned the mode.
func (p *Probe) Wait(ctx context.Context) (Times, error) {
	at, ok := p.Clock.Times()
	if a := p.Clock.Answer(); ok && a != nil {
		return answered(at, *a)
	}
	if !ok || p.finished == nil {
		return Times{}, errNoPair
	}
	select {
	case <-p.finished:
	case <-ctx.Done():
		return Times{}, context.Cause(ctx)
	}
	if p.result.err != nil {
		return Times{}, p.result.err
	}
	return times(at, p.result.seen)
}

// ByDriver reports whether the driver has found out by itself when the server was reached: there is no connection for Exchange then.
func (p *Probe) ByDriver() bool { return p.Clock.Answer() != nil }

// Exchange sends messages over the connection that was answered first, and returns what client and server report of them.
// No connection is opened. Call it after Wait.
func (p *Probe) Exchange(ctx context.Context) (client, server traffic.Report, err error) {
	return p.result.ends.exchange(ctx)
}

// Close ends what is left of the probe, with all sockets. It may be called again.
func (p *Probe) Close() {
	p.cancel(errors.New("the set-up has ended"))
	if p.finished != nil {
		<-p.finished
	}
	p.result.ends.close()
}
