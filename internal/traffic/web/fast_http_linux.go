package web

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// httpClient is the client's loop, with one thread for all flows.
type httpClient struct {
	*httpWindow
	dial      socket.Dialer
	due       exchange.Rotation
	poll      *socket.Poller // nil for a single flow, which waits in its calls
	over      *atomic.Bool
	waits     exchange.Waits
	buf       []byte
	busy      int
	looked    time.Duration // time of the last look for flows without a response
	portRetry time.Duration // time of the next attempt to get a source port, 0 if no flow waits for one
}

func requestHTTPFast(ctx context.Context, w *httpWindow) error {
	return w.Params.Threading().Run(1, func(int) error {
		over, stop := thread.Cancelled(ctx)
		defer stop()
		waits := exchange.BoundWaits(socket.PollTimeout)
		defer waits.End()
		c := &httpClient{httpWindow: w, over: over, waits: waits, buf: w.buf}
		err := c.prepare()
		if err == nil {
			err = exchange.WithCause(ctx, c.run())
		}
		if c.poll != nil {
			c.poll.Close()
		}
		return err
	})
}

func (c *httpClient) prepare() (err error) {
	if c.dial, err = socket.NewDialer(c.addr, connection.Options(c.Params)); err != nil {
		return err
	}
	for i := range c.flows {
		f := &c.flows[i]
		f.busy = false
		f.slot, _ = c.FirstSlot(i)
		if f.stream != nil && len(c.flows) == 1 && c.t.reuse { // opened in another window, on another thread
			if _, err = c.waits.Of(f.stream.FD()); err != nil {
				return err
			}
		}
	}
	if len(c.flows) > 1 {
		if c.poll, err = socket.NewPoller(); err != nil {
			return err
		}
		for i := range c.flows {
			if f := &c.flows[i]; f.stream != nil {
				if err := c.poll.Add(f.stream.FD(), i, socket.PollEdge); err != nil {
					return err
				}
			}
		}
	}
	c.due = exchange.NewRotation(c.Window)
	return nil
}

func (c *httpClient) run() error {
	if !c.Open() {
		for i := range c.flows {
			if err := c.begin(&c.flows[i], c.due.Clock.Since()); err != nil {
				return err
			}
		}
	}
	for {
		wait, err := c.due.SendDue(func(flow int, at time.Duration) error { return c.beginDue(&c.flows[flow], at) })
		if err != nil {
			return err
		}
		if c.over.Load() {
			return exchange.ErrCancelled
		}
		if c.busy == 0 && c.allSent() {
			break
		}
		if err := c.wait(wait); err != nil {
			return err
		}
		if err := c.look(); err != nil {
			return err
		}
	}
	if c.Open() {
		for i := range c.flows {
			c.SkipSlots(i, c.flows[i].slot, c.due.Limit)
		}
	}
	return nil
}

// allSent reports whether no more requests may start.
func (c *httpClient) allSent() bool {
	at := c.due.Clock.Since()
	if !c.Open() {
		return at >= c.Bins.End
	}
	return c.due.AllGiven() || at > c.LastSend()
}

// wait waits for events, and advances the flows that have some.
func (c *httpClient) wait(d time.Duration) error {
	if c.portRetry > 0 {
		d = min(d, connection.PortRetry)
	}
	if c.poll == nil {
		return c.waitAlone(d)
	}
	events, err := c.poll.Wait(d)
	for _, e := range events {
		if err := c.advance(&c.flows[e.Fd]); err != nil {
			return err
		}
	}
	return err
}

// waitAlone waits for the only flow: in the call that receives its response, or until its next slot.
func (c *httpClient) waitAlone(d time.Duration) error {
	f := &c.flows[0]
	switch {
	case !f.busy || f.stream == nil:
		at := c.due.Clock.Since()
		return c.due.Clock.SleepUntil(at+min(d, socket.PollTimeout), c.over)
	case f.sent == f.ask.size:
		if !c.t.reuse { // a short connection stays as it was opened, without waiting calls
			if ready, err := socket.PollFD(f.stream.FD(), unix.POLLIN, c.waits.Timeout()); !ready || err != nil {
				return err
			}
		}
		n, err := socket.Recv(f.stream.FD(), c.buf)
		return c.arrived(f, n, err)
	}
	ready, err := socket.PollFD(f.stream.FD(), unix.POLLOUT|unix.POLLIN, c.waits.Timeout())
	if !ready || err != nil {
		return err
	}
	return c.advance(f)
}

// look ends the exchanges that have no response in time, and tries again to get source ports.
func (c *httpClient) look() error {
	at := c.due.Clock.Since()
	if c.portRetry > 0 && at >= c.portRetry {
		c.portRetry = 0
		for i := range c.flows {
			if f := &c.flows[i]; f.busy && f.stream == nil && c.portRetry == 0 {
				if err := c.connectFlow(f); err != nil {
					return err
				}
			}
		}
	}
	if at-c.looked < socket.PollTimeout {
		return nil
	}
	c.looked = at
	for i := range c.flows {
		f := &c.flows[i]
		if !f.busy || at-f.begun <= connection.ReplyTimeout() {
			continue
		}
		if err := c.lose(f, connection.NoReplyError(c.addr, max(c.made-1, 0)), false); err != nil {
			return err
		}
	}
	return nil
}

// beginDue starts a flow's next request if it is due.
func (c *httpClient) beginDue(f *httpFlow, at time.Duration) error {
	if f.busy {
		return nil
	}
	due, ok := c.due.Take(&f.slot, at)
	if !ok {
		return nil
	}
	return c.begin(f, due)
}

// begin starts a flow's next exchange, which begins at from.
func (c *httpClient) begin(f *httpFlow, from time.Duration) error {
	f.from, f.begun, f.first, f.sent, f.bytes, f.busy, f.opened = from, from, 0, 0, 0, true, false
	c.choose(f)
	if c.Open() {
		f.begun = c.due.Clock.Since()
	}
	c.busy++
	if f.stream == nil {
		return c.connectFlow(f)
	}
	return c.send(f)
}

// connectFlow opens a connection for a flow's exchange.
func (c *httpClient) connectFlow(f *httpFlow) error {
	fd, err := c.dial.Begin()
	if errors.Is(err, unix.EADDRNOTAVAIL) {
		c.noPort++
		c.portRetry = c.due.Clock.Since() + connection.PortRetry
		return nil
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if _, counted := connection.FailureOf(err); counted && c.Params.Event != "" { // the event took the route of this host
		c.tried.Open(false)
		return c.lose(f, err, false)
	}
	if err != nil { // of this host: what the other one does comes later
		return fmt.Errorf("connect to %s after %d connections: %w", c.addr, c.made, err)
	}
	f.stream, f.opened, f.connected = socket.FastStream(fd), true, c.due.Clock.Since()
	f.begun = f.connected
	c.tried.Open(false)
	if c.poll != nil {
		if err := c.poll.Add(fd, f.no, socket.PollEdge); err != nil {
			return err
		}
	}
	return c.send(f)
}

// send sends as much of the request as possible. A socket accepts it as soon as it is connected.
func (c *httpClient) send(f *httpFlow) error {
	for f.sent < f.ask.size {
		n, err := socket.SendNow(f.stream.FD(), f.ask.after(f.sent))
		if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
			return nil
		}
		if err != nil {
			return c.sendFailed(f, err)
		}
		if f.sent == 0 && f.opened {
			c.made++
			if connection.Late(f.connected-f.begun, func() int64 { return f.stream.Info().Retransmits }) {
				c.tried.Late++
			}
			if c.poll == nil && c.t.reuse {
				if err := c.waitInCalls(f.stream.FD()); err != nil {
					return err
				}
			}
		}
		f.sent += n
		c.sent += int64(n)
	}
	return nil
}

// sendFailed handles the end of a connection during a request. The server may have answered before, with what is wrong.
func (c *httpClient) sendFailed(f *httpFlow, err error) error {
	if n, readErr := socket.RecvNow(f.stream.FD(), c.buf); readErr == nil && n > 0 {
		return c.arrived(f, n, nil)
	}
	return c.lose(f, fmt.Errorf("connect to %s and send a request, after %d connections: %w", c.addr, c.made, err), false)
}

// waitInCalls makes the calls on a connection wait.
func (c *httpClient) waitInCalls(fd int) error {
	if _, err := c.waits.Of(fd); err != nil { // no other thread waits for it
		return err
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		return fmt.Errorf("set socket: %w", err)
	}
	return nil
}

// advance handles an event of a flow.
func (c *httpClient) advance(f *httpFlow) error {
	if f.stream == nil {
		return nil
	}
	if f.busy && f.sent < f.ask.size {
		if f.sent == 0 && f.opened {
			f.connected = c.due.Clock.Since()
		}
		stream := f.stream
		if err := c.send(f); err != nil || f.stream != stream {
			return err
		}
	}
	for {
		n, err := socket.RecvNow(f.stream.FD(), c.buf)
		if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
			return nil
		}
		stream, whole := f.stream, n == len(c.buf)
		if err := c.arrived(f, n, err); err != nil {
			return err
		}
		// What fills less than the buffer was all there is: more of it is a separate event.
		if !whole || f.stream != stream {
			return nil
		}
	}
}

// arrived handles n bytes in buf, or the end of a flow's connection.
func (c *httpClient) arrived(f *httpFlow, n int, err error) error {
	if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
		return nil
	}
	if !f.busy { // the server has closed an idle connection, or sent what nobody asked for
		c.drop(f)
		return nil
	}
	at := c.due.Clock.Since()
	var done bool
	switch {
	case err != nil:
	case n == 0:
		done, err = c.ended(f)
	default:
		done, err = c.took(f, c.buf[:n], at)
	}
	if err != nil {
		return c.lose(f, fmt.Errorf("receive a response from %s after %d connections: %w", c.addr, c.made, err), c.keeps(f))
	}
	if !done {
		return nil
	}
	f.busy = false
	c.busy--
	if !c.keeps(f) {
		c.drop(f)
		at = c.due.Clock.Since()
	}
	c.done(f, at)
	return c.following(f, at)
}

// following starts a flow's exchange after one that ended at at.
func (c *httpClient) following(f *httpFlow, at time.Duration) error {
	switch {
	case c.over.Load():
	case !c.Open() && at < c.Bins.End:
		return c.begin(f, at)
	case c.Open() && at <= c.LastSend():
		return c.beginDue(f, at)
	}
	return nil
}

// lose ends a flow's exchange, which failed with err, and its connection unless that keeps.
func (c *httpClient) lose(f *httpFlow, err error, keeps bool) error {
	if !keeps {
		c.drop(f)
	}
	f.busy = false
	c.busy--
	at := c.due.Clock.Since()
	if err := c.fail(err, f.bytes > 0, f.from, at); err != nil {
		return err
	}
	return c.following(f, at)
}
