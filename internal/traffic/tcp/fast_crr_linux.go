package tcp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// crrState is the state of a flow's connection.
type crrState uint8

const (
	crrIdle    crrState = iota // none; waiting for a source port, or finished
	crrAsking                  // connecting or sending the request
	crrWaiting                 // waiting for the rest of the response
)

// crrFlow is one of the client's flows, with one connection at a time.
type crrFlow struct {
	fd                      int
	state                   crrState
	left                    int // bytes of the current message still to transfer
	begun, connected, first time.Duration
	late                    bool // its handshake lost a packet
	withoutPortSince        time.Duration
}

// crrClient is the client's loop, with one thread for all flows.
type crrClient struct {
	*crrWindow
	addr              netip.AddrPort
	dial              socket.Dialer
	poll              *socket.Poller // nil for a single flow
	flows             []crrFlow
	request, response []byte
	start             clock.Instant
	over              *atomic.Bool
	waits             exchange.Waits
	busy              int
	flowsWithoutPort  int           // idle flows that wait for a source port
	retry             time.Duration // time of the next attempt
}

func runCRRFast(ctx context.Context, addr netip.AddrPort, w *crrWindow) error {
	return thread.Run(1, w.CPU, func(int) error {
		over, stop := thread.Cancelled(ctx)
		defer stop()
		waits := exchange.BoundWaits(socket.PollTimeout)
		defer waits.End()
		c := &crrClient{crrWindow: w, addr: addr, over: over, waits: waits, flows: make([]crrFlow, w.Streams),
			request: make([]byte, min(w.requestBytes(), maxMessageCall)), response: make([]byte, min(w.ResponseSize, maxMessageCall))}
		err := c.prepare()
		if err == nil {
			err = exchange.WithCause(ctx, c.run())
		}
		c.close()
		return err
	})
}

func (c *crrClient) prepare() (err error) {
	copy(c.request, c.tag[:])
	if c.dial, err = socket.NewDialer(c.addr, c.options()); err != nil {
		return err
	}
	if len(c.flows) > 1 {
		c.poll, err = socket.NewPoller()
	}
	c.start = clock.Now()
	return err
}

// close closes what a failed trial has left open.
func (c *crrClient) close() {
	for _, f := range c.flows {
		if f.state != crrIdle {
			unix.Close(f.fd)
		}
	}
	if c.poll != nil {
		c.poll.Close()
	}
}

func (c *crrClient) since() time.Duration { return c.start.Since() }

func (c *crrClient) run() error {
	at := c.since()
	for i := range c.flows {
		if err := c.begin(i, at); err != nil {
			return err
		}
	}
	for {
		if c.over.Load() {
			return exchange.ErrCancelled
		}
		at = c.since()
		ended := at >= c.bins.End
		if c.flowsWithoutPort > 0 && (ended || at >= c.retry) {
			if err := c.askAgain(at); err != nil {
				return err
			}
		}
		if ended && c.busy == 0 {
			return nil
		}
		if err := c.wait(); err != nil {
			return err
		}
	}
}

// wait waits for events and advances the flows that have some.
func (c *crrClient) wait() error {
	timeout := c.waits.Timeout()
	if c.flowsWithoutPort > 0 {
		timeout = connection.PortRetry
	}
	if c.poll == nil && c.busy > 0 {
		f := &c.flows[0]
		want := int16(unix.POLLIN)
		if f.state == crrAsking {
			want = unix.POLLOUT
		}
		ready, err := socket.PollFD(f.fd, want, timeout)
		if ready && err == nil {
			return c.advance(0)
		}
		return c.check(err)
	}
	if c.busy == 0 {
		socket.Sleep(connection.PortRetry)
		return nil
	}
	events, err := c.poll.Wait(timeout)
	for _, e := range events {
		if err := c.advance(int(e.Fd)); err != nil {
			return err
		}
	}
	if len(events) == 0 {
		return c.check(err)
	}
	return err
}

// check ends connections that timed out, and opens the next of their flows.
func (c *crrClient) check(err error) error {
	at := c.since()
	for i := range c.flows {
		f := &c.flows[i]
		if err != nil || f.state == crrIdle || at-f.begun <= connection.ReplyTimeout() {
			continue
		}
		err = c.lose(i, connection.NoReplyError(c.addr, c.made-1))
	}
	return err
}

// lose ends a flow's connection, which failed with err, and opens its next one.
func (c *crrClient) lose(i int, err error) error {
	f := &c.flows[i]
	socket.CloseNow(f.fd)
	f.state = crrIdle
	c.busy--
	at := c.since()
	if err := c.fail(err, f.begun, at); err != nil || at >= c.bins.End || c.over.Load() {
		return err
	}
	return c.begin(i, at)
}

// askAgain retries the flows without a source port, until one fails again.
func (c *crrClient) askAgain(at time.Duration) error {
	for i := range c.flows {
		f := &c.flows[i]
		if f.state != crrIdle || f.withoutPortSince == 0 {
			continue
		}
		c.stall(f.withoutPortSince, at)
		f.withoutPortSince = 0
		c.flowsWithoutPort--
		if at >= c.bins.End {
			continue
		}
		if err := c.begin(i, at); err != nil {
			return err
		}
		if f.withoutPortSince > 0 {
			return nil
		}
	}
	return nil
}

// begin opens a flow's next connection and sends as much as possible.
func (c *crrClient) begin(i int, at time.Duration) error {
	f := &c.flows[i]
	fd, err := c.dial.Begin()
	if errors.Is(err, unix.EADDRNOTAVAIL) {
		c.portMisses++
		c.flowsWithoutPort++
		f.withoutPortSince = max(at, 1)
		c.retry = at + connection.PortRetry
		return nil
	}
	if err != nil { // of this host: what the other one does comes later
		return fmt.Errorf("connect to %s after %d connections: %w", c.addr, c.made, err)
	}
	f.fd, f.state, f.begun, f.connected, f.left = fd, crrAsking, at, c.since(), c.requestBytes()
	f.late = false
	c.busy++
	c.countSearch(f.connected - at)
	if err := c.ask(f); err != nil {
		return c.lose(i, err)
	}
	if c.poll != nil {
		return c.poll.Add(fd, i, socket.PollEdge)
	}
	return nil
}

// ask sends as much of the request as possible. A socket accepts it as soon as it is connected; on
// a short path that is before connect has returned.
func (c *crrClient) ask(f *crrFlow) error {
	for f.left > 0 {
		sent := c.requestBytes() - f.left
		n, err := socket.SendNow(f.fd, c.request[min(sent, len(c.tag)):][:min(f.left, len(c.request)-min(sent, len(c.tag)))])
		if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
			return nil
		}
		if err != nil {
			return fmt.Errorf("connect to %s after %d connections: %w", c.addr, c.made, err)
		}
		if sent == 0 {
			c.made++
		}
		f.left -= n
	}
	f.state, f.left = crrWaiting, int(c.ResponseSize)
	return nil
}

// advance handles an event of a flow, and opens its next connection at the end of one.
func (c *crrClient) advance(i int) error {
	f := &c.flows[i]
	if f.state == crrIdle {
		return nil
	}
	if f.state == crrAsking {
		if f.left == c.requestBytes() {
			f.connected = c.since()
			f.late = connection.Late(f.connected-f.begun, func() int64 { return socket.FastStream(f.fd).Info().Retransmits })
		}
		if err := c.ask(f); err != nil { // its response is a separate event
			return c.lose(i, err)
		}
		return nil
	}
	for f.left > 0 {
		n, err := socket.RecvNow(f.fd, c.response[:min(f.left, len(c.response))])
		if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
			return nil
		}
		if err == nil && n == 0 {
			err = connection.ErrPeerClosed
		}
		if err != nil {
			return c.lose(i, fmt.Errorf("receive response from %s after %d connections: %w", c.addr, c.made, err))
		}
		if f.left == int(c.ResponseSize) {
			f.first = c.since()
		}
		f.left -= n
	}
	socket.CloseNow(f.fd)
	f.state = crrIdle
	c.busy--
	at := c.since()
	c.done(f.begun, f.connected, f.first, at, f.late)
	if at < c.bins.End && !c.over.Load() {
		return c.begin(i, at)
	}
	return nil
}
