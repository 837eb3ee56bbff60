package web

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/http2"
	"tare/internal/traffic/secure"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
	"tare/internal/unit"
)

// http2Conn is one of the client's connections, of which there is one at a time. The thread that reads opens and closes it; the
// others lock mu, and so does that thread for what they use.
type http2Conn struct {
	s     *http2Session
	no    int
	buf   []byte
	apart bool // a thread of its own sends

	// Of the current window.
	ctx   context.Context //nolint:containedctx // of the threads of one window
	w     *httpWindow
	start clock.Instant

	mu       sync.Mutex
	changed  sync.Cond // busy, over, or what there is to send
	stream   socket.Stream
	conn     *http2.Conn
	on       []*http2.Stream // of each flow, nil for none
	waiting  []*httpFlow     // whose requests are to be sent
	busy     int             // flows with an exchange
	over     bool            // the schedule begins no more; with a closed loop from the start
	ended    bool            // no thread has anything left to do
	sending  bool            // a thread is sending
	failed   error           // why nothing more is sent
	unbound  func()          // ends what is being sent in TLS, nil without
	fatal    error           // ends the trial
	at       time.Duration   // of what is being read
	heard    time.Duration   // when something was received last
	answered int             // responses on the connection
	looked   time.Duration   // time of the last look for flows without a response
}

// begin prepares a window.
func (c *http2Conn) begin(ctx context.Context, w *httpWindow, start clock.Instant) {
	c.ctx, c.w, c.start = ctx, w, start
	c.over, c.ended, c.busy, c.waiting, c.fatal, c.looked, c.heard = !w.Open(), false, 0, c.waiting[:0], nil, 0, 0
	c.bound()
	c.flows(func(f *httpFlow) {
		f.busy = false
		f.slot, _ = w.FirstSlot(f.no)
	})
}

// bound lets what is sent in TLS end with the window, or when the connection is dropped.
func (c *http2Conn) bound() {
	in, ok := c.stream.(*secure.Stream)
	if !ok {
		return
	}
	if c.unbound != nil {
		c.unbound()
	}
	var ctx context.Context
	ctx, c.unbound = context.WithCancel(c.ctx)
	in.Within(ctx)
}

// flows calls fn for each flow of the connection.
func (c *http2Conn) flows(fn func(f *httpFlow)) {
	for i := c.no; i < len(c.w.flows); i += len(c.s.conns) {
		fn(&c.w.flows[i])
	}
}

// ask begins a flow's exchange, which begins at from. Its request is sent with the next.
func (c *http2Conn) ask(f *httpFlow, from, at time.Duration) {
	f.from, f.begun, f.first, f.bytes, f.parts, f.busy, f.opened, f.asked = from, at, 0, 0, 0, true, false, false
	c.busy++
	c.waiting = append(c.waiting, f)
}

// follow begins a flow's exchange after one that ended at at, if one is due.
func (c *http2Conn) follow(f *httpFlow, at time.Duration) {
	w := c.w
	if !w.Open() {
		if at < w.Bins.End {
			c.ask(f, at, at)
		}
		return
	}
	if due := w.Schedule.Due(f.slot); due <= at && f.slot < c.limit() && at <= w.LastSend() {
		f.slot += uint64(w.Params.Streams)
		c.ask(f, due, at)
	}
}

// limit is the first slot after the window.
func (c *http2Conn) limit() uint64 { return c.w.Schedule.First(c.w.Bins.End) }

// read opens the connection where it must, reads responses and begins what follows them, until the window is over.
func (c *http2Conn) read() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		c.ended = true
		c.changed.Broadcast()
	}()
	if !c.w.Open() {
		at := c.start.Since()
		c.flows(func(f *httpFlow) { c.ask(f, at, at) })
	}
	for c.ctx.Err() == nil && c.fatal == nil {
		switch {
		case c.busy == 0 && c.over:
			c.w.Mu.Lock()
			defer c.w.Mu.Unlock()
			if c.w.Open() {
				c.flows(func(f *httpFlow) { c.w.SkipSlots(f.no, f.slot, c.limit()) })
			}
			return nil
		case c.busy == 0:
			c.changed.Wait()
			continue
		}
		if !c.ready() {
			continue
		}
		c.send()
		c.receive()
	}
	if c.fatal != nil {
		return c.fatal
	}
	return context.Cause(c.ctx)
}

// ready opens a connection if there is none that takes requests, and begins those that wait. It reports whether there is a connection.
func (c *http2Conn) ready() bool {
	if c.conn != nil && c.takesNoMore() && c.busy == len(c.waiting) {
		c.drop()
		clear(c.on)
	}
	if c.conn == nil {
		c.mu.Unlock()
		err := c.open()
		c.mu.Lock()
		if err != nil {
			c.lose(err, true)
			return false
		}
	}
	c.sendWaiting()
	return true
}

// takesNoMore reports whether the connection takes no more requests.
func (c *http2Conn) takesNoMore() bool { return c.conn.Gone() != nil || !c.conn.MoreRequests() }

// sendWaiting begins the requests that wait.
func (c *http2Conn) sendWaiting() {
	if c.conn == nil || c.takesNoMore() {
		return
	}
	for _, f := range c.waiting {
		f.asked = true
		if s := c.on[f.no]; s != nil { // of a call that goes on
			c.conn.Send(s, c.s.ask)
			continue
		}
		c.on[f.no] = c.conn.Request(c.s.ask, f.no)
	}
	c.waiting = c.waiting[:0]
}

// send sends what there is to send, or lets the thread that sends do it.
func (c *http2Conn) send() {
	if c.apart {
		c.changed.Broadcast()
		return
	}
	c.flush()
}

// flush sends what there is to send, while others may read.
func (c *http2Conn) flush() {
	if c.sending {
		return // the other thread sends this, too
	}
	c.sending = true
	defer func() { c.sending = false }()
	for c.conn != nil && c.failed == nil && c.ctx.Err() == nil {
		stream, conn := c.stream, c.conn
		p := conn.Pending()
		if len(p) == 0 {
			return
		}
		c.mu.Unlock()
		n, err := stream.Write(p)
		c.mu.Lock()
		conn.Wrote(n)
		if err != nil && !socket.IsAgain(err) {
			c.failed = err
			return
		}
	}
}

// sendApart sends what there is to send until the window is over.
func (c *http2Conn) sendApart() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.ended && c.ctx.Err() == nil {
		if c.flush(); c.ended || c.ctx.Err() != nil {
			break
		}
		c.changed.Wait()
	}
	return nil
}

// keepSchedule begins requests when they are due.
func (c *http2Conn) keepSchedule() error {
	w, n := c.w, uint64(len(c.s.conns))
	exchange.PrepareDue(w.Params)
	slot, limit := w.Schedule.First(0), c.limit()
	slot += (uint64(c.no) + n - slot%n) % n
	defer func() {
		c.mu.Lock()
		c.over = true
		c.changed.Broadcast()
		c.mu.Unlock()
	}()
	for ; slot < limit; slot += n {
		due := w.Schedule.Due(slot)
		for w.Params.Spins() && c.start.Since() < due && c.ctx.Err() == nil {
			thread.Yield()
		}
		if err := exchange.PauseUntilDue(c.ctx, due-c.start.Since()); err != nil {
			return err
		}
		at := c.start.Since()
		if at > w.LastSend() {
			return nil
		}
		c.mu.Lock()
		if c.ended {
			c.mu.Unlock()
			return nil
		}
		if f := &w.flows[slot%uint64(w.Params.Streams)]; !f.busy && f.slot == slot {
			c.follow(f, at)
			if c.sendWaiting(); c.busy == 1 {
				c.changed.Broadcast()
			}
			c.send()
		}
		c.mu.Unlock()
	}
	return nil
}

// receive reads what has arrived, and begins what follows the responses in it.
func (c *http2Conn) receive() {
	stream := c.stream
	c.mu.Unlock()
	n, err := stream.Read(c.buf)
	c.mu.Lock()
	c.at = c.start.Since()
	switch {
	case socket.IsAgain(err):
		err = nil
	case err != nil:
	case n == 0:
		err = connection.ErrPeerClosed
	default:
		c.heard = c.at
		err = c.conn.Read(c.buf[:n])
	}
	if err == nil && c.failed != nil && n == 0 {
		err = c.failed
	}
	if err != nil {
		c.flushLast(err)
		c.lose(c.receiving(err), false)
		return
	}
	if c.at-c.looked > socket.PollTimeout {
		c.looked = c.at
		c.look()
	}
}

// flushLast tells a peer that breaks the protocol why the connection ends, if that needs no waiting.
func (c *http2Conn) flushLast(err error) {
	if _, ok := errors.AsType[*http2.Error](err); ok && !c.sending && c.failed == nil {
		if p := c.conn.Pending(); len(p) <= mostAtOnce {
			_, _ = c.stream.Write(p)
		}
	}
}

// look ends the exchanges that have no response in time: alone, or with their connection if nothing was received on that.
func (c *http2Conn) look() {
	var late []*httpFlow
	c.flows(func(f *httpFlow) {
		if f.busy && c.at-f.begun > connection.ReplyTimeout() {
			late = append(late, f)
		}
	})
	for _, f := range late {
		if c.conn == nil || !f.busy {
			continue
		}
		err := connection.NoReplyError(c.w.addr, max(c.made()-1, 0))
		if c.heard <= f.begun {
			c.lose(err, false)
			return
		}
		if c.on[f.no] != nil && f.asked {
			c.conn.Cancel(c.on[f.no])
			c.end(f, err)
		}
	}
}

// Begun takes the time of the first byte of a response, which is that of the first of its messages.
func (c *http2Conn) Begun(s *http2.Stream) {
	if f := &c.w.flows[s.Lane]; f.parts == 0 {
		f.first = c.at
	}
}

// Message counts a response. A call that goes on fails with its end, and one of a series with fewer messages than it should have.
func (c *http2Conn) Message(s *http2.Stream) {
	f := &c.w.flows[s.Lane]
	err := c.w.t.check2(s)
	if c.w.t.streaming && err == nil {
		err = &answerError{httpOther, "the server ended the call"}
	}
	if err == nil && f.parts != c.w.t.series {
		err = &answerError{httpOther, fmt.Sprintf("the call was answered with %s, not %d", unit.Count(f.parts, "message", "messages"), c.w.t.series)}
	}
	if err != nil {
		c.endOn(f, c.receiving(err))
		return
	}
	c.on[f.no] = nil
	c.answer(f)
}

// Part counts a response within a call that goes on, or a message of a series.
func (c *http2Conn) Part(s *http2.Stream) {
	f := &c.w.flows[s.Lane]
	err := c.w.t.checkPart(s)
	switch {
	case err != nil:
	case c.w.t.series > 0 && f.parts < c.w.t.series:
		f.parts, f.begun = f.parts+1, c.at // the next message has its own time
		return
	case c.w.t.series > 0:
		err = &answerError{httpOther, fmt.Sprintf("the call was answered with more than %s", unit.Count(c.w.t.series, "message", "messages"))}
	case !f.busy || !f.asked:
		err = &answerError{httpOther, "the server sent a message that nobody asked for"}
	case !s.Sent():
		err = &answerError{httpOther, "the server answered before it had the whole message"}
	}
	if err != nil {
		c.conn.Cancel(s)
		c.endOn(f, c.receiving(err))
		return
	}
	c.answer(f)
}

// endOn ends what is in progress on the stream of a flow, which has ended: nothing between two messages of a call.
func (c *http2Conn) endOn(f *httpFlow, err error) {
	if !f.busy || !f.asked {
		c.on[f.no] = nil
		return
	}
	c.end(f, err)
}

// answer counts the response to a flow's request, and begins what follows.
func (c *http2Conn) answer(f *httpFlow) {
	c.answered++
	f.busy = false
	c.busy--
	c.w.Mu.Lock()
	c.w.done(f, c.at)
	c.w.Mu.Unlock()
	c.follow(f, c.at)
}

// Lost handles the end of a stream without a response. A server that ends the connection in order has not begun what it did not answer,
// so that is sent again on the next.
func (c *http2Conn) Lost(s *http2.Stream, err error) {
	f := &c.w.flows[s.Lane]
	if gone, ok := errors.AsType[*http2.GoneError](err); ok && gone.Code == http2.NoError && c.answered > 0 && f.busy && f.asked {
		c.on[f.no], f.asked = nil, false
		c.waiting = append(c.waiting, f)
		return
	}
	c.endOn(f, c.receiving(err))
}

// receiving says of what a response failed.
func (c *http2Conn) receiving(err error) error {
	return fmt.Errorf("receive a response from %s after %d connections: %w", c.w.addr, c.made(), err)
}

// made is how many connections the session has opened.
func (c *http2Conn) made() int64 {
	c.w.Mu.Lock()
	defer c.w.Mu.Unlock()
	return c.w.made
}

// end ends a flow's exchange, which failed, while the connection goes on.
func (c *http2Conn) end(f *httpFlow, err error) {
	kind, counted := httpFailureOf(err, f.first > 0)
	if !counted {
		c.fatal = err
		return
	}
	c.on[f.no] = nil
	f.busy = false
	c.busy--
	c.w.Mu.Lock()
	if err := c.w.failAs(kind, err, f.from, c.at); err != nil {
		c.fatal = err
	}
	c.w.Mu.Unlock()
	c.follow(f, c.at)
}

// drop closes the connection, when no thread sends.
func (c *http2Conn) drop() {
	c.failed = connection.ErrPeerClosed
	if c.unbound != nil {
		c.unbound()
	}
	for c.sending {
		c.mu.Unlock()
		thread.Yield()
		c.mu.Lock()
	}
	c.w.Mu.Lock()
	c.close()
	c.w.Mu.Unlock()
}

// lose ends the connection, which failed, with the exchanges on it; of one that could not be opened, with those that wait.
func (c *http2Conn) lose(err error, unopened bool) {
	kind, counted := httpFailureOf(err, false)
	if !counted {
		c.fatal = err
		return
	}
	c.at = c.start.Since()
	c.drop()
	if of, ok := kind.ofConnection(); ok {
		c.w.Mu.Lock()
		c.w.tried.Add(of)
		c.w.Mu.Unlock()
	}
	lost := c.waiting
	if c.waiting = nil; !unopened {
		lost, c.waiting = nil, lost
		c.flows(func(f *httpFlow) {
			if c.on[f.no] != nil && f.busy && f.asked {
				lost = append(lost, f)
			}
		})
		clear(c.on)
	}
	for _, f := range lost {
		if c.fatal == nil {
			c.end(f, err)
		}
	}
}
