package tcp

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/socket"
)

// rrFlow is one of several flows at either endpoint.
type rrFlow struct {
	no      int
	fd      int
	request []byte // for one message, shared by all flows if these have no content
	reply   []byte
	left    int  // bytes of the current message still to transfer
	sending bool // the current message is outgoing
	busy    bool // client: an exchange is in progress
	from    time.Duration
	slot    uint64 // client: its next slot of the schedule

	seenLeft int           // client: left at the last look for silent peers
	seenFrom time.Duration // from at that look
	seenAt   time.Duration // the look at which either of them was first seen
}

// flowsOf adds connections to a poller. Each flow first has left bytes to transfer.
func flowsOf(c connection.List, left int, p traffic.Params, in content) (*socket.Poller, []rrFlow, error) {
	poll, err := socket.NewPoller()
	if err != nil {
		return nil, nil, err
	}
	flows := make([]rrFlow, len(c))
	for i := range flows {
		flows[i] = rrFlow{no: i, fd: c[i].FD(), left: left}
		if i > 0 && in == nil {
			flows[i].request, flows[i].reply = flows[0].request, flows[0].reply
		} else {
			flows[i].request, flows[i].reply = make([]byte, min(p.RequestSize, maxMessageCall)), make([]byte, min(p.ResponseSize, maxMessageCall))
		}
		if err := poll.Add(flows[i].fd, i, socket.PollEdge); err != nil {
			poll.Close()
			return nil, nil, err
		}
	}
	return poll, flows, nil
}

// push continues sending until the message is sent; more is false when it would block.
func (f *rrFlow) push(buf []byte) (done bool, err error) {
	for f.left > 0 {
		n, err := socket.SendNow(f.fd, connection.Rest(buf, f.left))
		if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
			return false, nil
		}
		if err != nil {
			return false, err
		}
		f.left -= n
	}
	return true, nil
}

// pull continues receiving until the message is complete.
func (f *rrFlow) pull(buf []byte) (done bool, err error) {
	for f.left > 0 {
		n, err := socket.RecvNow(f.fd, connection.Rest(buf, f.left))
		if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
			return false, nil
		}
		if err == nil && n == 0 {
			err = connection.ErrPeerClosed
		}
		if err != nil {
			return false, err
		}
		f.left -= n
	}
	return true, nil
}

// rrMany is the client's loop over several flows.
type rrMany struct {
	*rrWindow
	due   exchange.Rotation
	poll  *socket.Poller
	flows []rrFlow
	busy  int
}

func requestMany(over *atomic.Bool, c connection.List, w *rrWindow) error {
	poll, flows, err := flowsOf(c, 0, w.Params, w.content)
	if err != nil {
		return err
	}
	defer poll.Close()
	m := &rrMany{rrWindow: w, poll: poll, flows: flows}
	for i := range flows {
		flows[i].slot, _ = w.FirstSlot(i)
	}
	m.due = exchange.NewRotation(w.Window)
	return m.run(over)
}

func (m *rrMany) run(over *atomic.Bool) error {
	if !m.Open() {
		for i := range m.flows {
			if m.Broken[i] {
				continue
			}
			if err := m.begin(&m.flows[i], m.due.Clock.Since()); err != nil {
				return err
			}
		}
	}
	for {
		wait, err := m.due.SendDue(func(flow int, at time.Duration) error { return m.beginDue(&m.flows[flow], at) })
		if err != nil {
			return err
		}
		if over.Load() {
			return exchange.ErrCancelled
		}
		if m.busy == 0 && m.ended() {
			break
		}
		events, err := m.poll.Wait(wait)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := m.advance(int(e.Fd)); err != nil {
				return err
			}
		}
		if len(events) == 0 {
			if err := m.failSilent(); err != nil {
				return err
			}
		}
	}
	if m.Open() {
		for i, f := range m.flows {
			m.SkipSlots(i, f.slot, m.due.Limit)
		}
	}
	return nil
}

// failSilent ends the connections of flows whose peer has been silent for too long. It looks when nothing has arrived
// for a while: a flow that alone has no answer is found when the others have ended.
func (m *rrMany) failSilent() error {
	at := m.due.Clock.Since()
	for i := range m.flows {
		f := &m.flows[i]
		switch {
		case !f.busy:
		case f.left != f.seenLeft || f.from != f.seenFrom || f.seenAt == 0:
			f.seenLeft, f.seenFrom, f.seenAt = f.left, f.from, at
		case at-f.seenAt > connection.ReplyTimeout():
			if err := m.lose(f, fmt.Errorf("receive response: %w within %s", connection.ErrNoReply, connection.ReplyTimeout())); err != nil {
				return err
			}
		}
	}
	return nil
}

// lose ends the connection of a flow, which failed with err.
func (m *rrMany) lose(f *rrFlow, err error) error {
	if f.busy {
		if !f.sending {
			m.unread++
		}
		f.busy = false
		m.busy--
	}
	return m.fail(f.no, err)
}

// ended reports whether no more requests may start.
func (m *rrMany) ended() bool {
	at := m.due.Clock.Since()
	if !m.Open() {
		return at >= m.Bins.End
	}
	return m.due.AllGiven() && at >= m.Bins.End || at > m.LastSend()
}

// beginDue starts a flow's next request if it is due.
func (m *rrMany) beginDue(f *rrFlow, at time.Duration) error {
	if f.busy || m.Broken[f.no] {
		return nil
	}
	due, ok := m.due.Take(&f.slot, at)
	if !ok {
		return nil
	}
	return m.begin(f, due)
}

func (m *rrMany) begin(f *rrFlow, from time.Duration) error {
	f.from, f.busy, f.sending, f.left = from, true, true, int(m.Params.RequestSize)
	f.seenAt = 0
	m.busy++
	if m.content != nil {
		m.content.request(f.no, f.request)
	}
	return m.send(f)
}

func (m *rrMany) send(f *rrFlow) error {
	done, err := f.push(f.request)
	if err != nil {
		return m.lose(f, fmt.Errorf("send request: %w", err))
	}
	if done {
		f.sending, f.left = false, int(m.Params.ResponseSize)
	}
	return nil
}

// advance handles an event of a flow.
func (m *rrMany) advance(i int) error {
	f := &m.flows[i]
	if m.Broken[i] {
		return nil
	}
	if f.busy && f.sending {
		if err := m.send(f); err != nil || f.sending || m.Broken[i] {
			return err
		}
	}
	if !f.busy {
		f.left = 1 // nothing should arrive
	}
	done, err := f.pull(f.reply)
	if err != nil {
		return m.lose(f, fmt.Errorf("receive response: %w", err))
	}
	if !done {
		return nil
	}
	if !f.busy {
		return errors.New("receive response: the server sent unexpected data")
	}
	if m.content != nil {
		if err := m.content.response(i, f.reply); err != nil {
			return fmt.Errorf("receive response: %w", err)
		}
	}
	at := m.due.Clock.Since()
	m.Done(i, f.from, at)
	f.busy = false
	m.busy--
	switch {
	case !m.Open() && at < m.Bins.End:
		return m.begin(f, at)
	case m.Open() && at <= m.LastSend():
		return m.beginDue(f, at)
	}
	return nil
}

// respondMany is the server's loop over several flows.
func respondMany(over *atomic.Bool, c connection.List, p traffic.Params, in content) (n int64, err error) {
	poll, flows, err := flowsOf(c, int(p.RequestSize), p, in)
	if err != nil {
		return 0, err
	}
	defer poll.Close()
	for open := len(flows); open > 0; {
		events, err := poll.Wait(socket.PollTimeout)
		if err != nil {
			return n, err
		}
		for _, e := range events {
			f := &flows[e.Fd]
			if f.fd < 0 {
				continue
			}
			answered, err := f.answer(p, in)
			if answered {
				n++
			}
			_, failed := connection.FailureOf(err)
			switch {
			case failed: // the client closed it, or counts what broke it
				f.fd = -1
				open--
			case err != nil:
				return n, err
			}
		}
		if over.Load() {
			return n, exchange.ErrCancelled
		}
	}
	return n, nil
}

// answer advances a flow of the server. It reports whether it has sent a response. The client sends
// no further request before that arrives.
func (f *rrFlow) answer(p traffic.Params, in content) (bool, error) {
	if !f.sending {
		done, err := f.pull(f.request)
		if done && in != nil {
			err = in.answer(f.request, f.reply)
		}
		if err != nil && !errors.Is(err, connection.ErrPeerClosed) {
			err = fmt.Errorf("receive request: %w", err)
		}
		if !done || err != nil {
			return false, err
		}
		f.sending, f.left = true, int(p.ResponseSize)
	}
	done, err := f.push(f.reply)
	if err != nil {
		return false, fmt.Errorf("send response: %w", err)
	}
	if done {
		f.sending, f.left = false, int(p.RequestSize)
	}
	return done, nil
}
