package tcp

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

// rrFlow is one of several flows at either end.
type rrFlow struct {
	fd      int
	left    int  // bytes of the message under way that are still to be moved
	sending bool // that message is this end's own
	busy    bool // client: an exchange is under way
	from    time.Duration
	slot    uint64 // client: the next that the schedule has for it
}

// flowsOf puts connections under a poller.
func flowsOf(c conns, busy int) (*socket.Poller, []rrFlow, error) {
	poll, err := socket.NewPoller()
	if err != nil {
		return nil, nil, err
	}
	flows := make([]rrFlow, len(c))
	for i := range flows {
		flows[i] = rrFlow{fd: c[i].FD(), left: busy}
		if err := poll.Add(flows[i].fd, i, socket.PollEdge); err != nil {
			poll.Close()
			return nil, nil, err
		}
	}
	return poll, flows, nil
}

// push sends on until the message is out; more is false when it would block.
func (f *rrFlow) push(buf []byte) (done bool, err error) {
	for f.left > 0 {
		n, err := socket.SendNow(f.fd, buf[:min(f.left, len(buf))])
		if err == socket.ErrAgain { //nolint:errorlint // returned bare, in the hot loop
			return false, nil
		}
		if err != nil {
			return false, err
		}
		f.left -= n
	}
	return true, nil
}

// pull receives on until the message is in.
func (f *rrFlow) pull(buf []byte) (done bool, err error) {
	for f.left > 0 {
		n, err := socket.RecvNow(f.fd, buf[:min(f.left, len(buf))])
		if err == socket.ErrAgain { //nolint:errorlint // returned bare, in the hot loop
			return false, nil
		}
		if err == nil && n == 0 {
			err = errPeerClosed
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
	poll              *socket.Poller
	flows             []rrFlow
	request, response []byte
	clock             preciseClock
	busy              int
	next, limit       uint64 // of the schedule: the next slot to look at, the first behind the window
}

func requestMany(over *atomic.Bool, c conns, w *rrWindow) error {
	poll, flows, err := flowsOf(c, 0)
	if err != nil {
		return err
	}
	defer poll.Close()
	m := &rrMany{rrWindow: w, poll: poll, flows: flows,
		request: make([]byte, min(w.p.RequestSize, maxMessageCall)), response: make([]byte, min(w.p.ResponseSize, maxMessageCall))}
	m.next = w.schedule.first(0)
	for i := range flows {
		flows[i].slot, m.limit = w.firstSlot(i)
	}
	m.clock = newPreciseClock(w.open())
	return m.run(over)
}

func (m *rrMany) run(over *atomic.Bool) error {
	if !m.open() {
		for i := range m.flows {
			if err := m.begin(&m.flows[i], m.clock.since()); err != nil {
				return err
			}
		}
	}
	for {
		wait := socket.PollTimeout
		if m.open() {
			var err error
			if wait, err = m.sendDue(); err != nil {
				return err
			}
		}
		if over.Load() {
			return errCancelled
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
	}
	if m.open() {
		for i, f := range m.flows {
			m.skipSlots(i, f.slot, m.limit)
		}
	}
	return nil
}

// ended reports whether no more requests are to be begun.
func (m *rrMany) ended() bool {
	at := m.clock.since()
	if !m.open() {
		return at >= m.bins.End
	}
	return m.next >= m.limit && at >= m.bins.End || at > m.lastSend()
}

// sendDue begins what is due on flows that are free, and says how long until the
// next slot.
func (m *rrMany) sendDue() (time.Duration, error) {
	at := m.clock.since()
	if at > m.lastSend() {
		return socket.PollTimeout, nil
	}
	behind := min(m.schedule.first(at+1), m.limit)
	// Each flow knows its own next slot, so one look at each is enough.
	if n := uint64(len(m.flows)); behind > m.next+n {
		m.next = behind - n
	}
	for ; m.next < behind; m.next++ {
		if err := m.beginDue(&m.flows[m.next%uint64(len(m.flows))], at); err != nil {
			return 0, err
		}
	}
	if m.next >= m.limit {
		return socket.PollTimeout, nil
	}
	return max(min(socket.PollTimeout, m.schedule.due(m.next)-m.clock.since()), 0), nil
}

// beginDue begins a flow's next request by the schedule if it is time.
func (m *rrMany) beginDue(f *rrFlow, at time.Duration) error {
	if f.busy || f.slot >= m.limit {
		return nil
	}
	due := m.schedule.due(f.slot)
	if due > at {
		return nil
	}
	f.slot += uint64(len(m.flows))
	return m.begin(f, due)
}

func (m *rrMany) begin(f *rrFlow, from time.Duration) error {
	f.from, f.busy, f.sending, f.left = from, true, true, m.p.RequestSize
	m.busy++
	return m.send(f)
}

func (m *rrMany) send(f *rrFlow) error {
	done, err := f.push(m.request)
	if err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	if done {
		f.sending, f.left = false, m.p.ResponseSize
	}
	return nil
}

// advance moves a flow on that has news.
func (m *rrMany) advance(i int) error {
	f := &m.flows[i]
	if f.busy && f.sending {
		if err := m.send(f); err != nil || f.sending {
			return err
		}
	}
	if !f.busy {
		f.left = 1 // there should be nothing
	}
	done, err := f.pull(m.response)
	if err != nil {
		return fmt.Errorf("receive response: %w", err)
	}
	if !done {
		return nil
	}
	if !f.busy {
		return errors.New("receive response: the server sent what was not asked for")
	}
	at := m.clock.since()
	m.done(i, f.from, at)
	f.busy = false
	m.busy--
	switch {
	case !m.open() && at < m.bins.End:
		return m.begin(f, at)
	case m.open() && at <= m.lastSend():
		return m.beginDue(f, at)
	}
	return nil
}

// respondMany is the server's loop over several flows.
func respondMany(over *atomic.Bool, c conns, p traffic.Params) (n int64, err error) {
	poll, flows, err := flowsOf(c, p.RequestSize)
	if err != nil {
		return 0, err
	}
	defer poll.Close()
	request, response := make([]byte, min(p.RequestSize, maxMessageCall)), make([]byte, min(p.ResponseSize, maxMessageCall))
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
			answered, err := f.answer(request, response, p)
			if answered {
				n++
			}
			switch {
			case errors.Is(err, errPeerClosed):
				f.fd = -1
				open--
			case err != nil:
				return n, err
			}
		}
		if over.Load() {
			return n, errCancelled
		}
	}
	return n, nil
}

// answer moves a flow of the server on. It reports whether a response went out.
// The client sends no further request before it has that.
func (f *rrFlow) answer(request, response []byte, p traffic.Params) (bool, error) {
	if !f.sending {
		done, err := f.pull(request)
		if err != nil && !errors.Is(err, errPeerClosed) {
			err = fmt.Errorf("receive request: %w", err)
		}
		if !done || err != nil {
			return false, err
		}
		f.sending, f.left = true, p.ResponseSize
	}
	done, err := f.push(response)
	if err != nil {
		return false, fmt.Errorf("send response: %w", err)
	}
	if done {
		f.sending, f.left = false, p.RequestSize
	}
	return done, nil
}
