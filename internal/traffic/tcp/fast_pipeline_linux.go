package tcp

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/traffic"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/socket"
)

// ending are the events of a connection that its peer has closed or reset.
const ending = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR

// pipelineFlow is a connection of the client.
type pipelineFlow struct {
	inProgress
	no, fd int
	unsent int           // bytes of requests
	heard  time.Duration // when something was sent or received last
}

// pipelineClient is the client's loop over all connections, on one thread. It never waits for one of them alone, so a server may wait until
// its responses are read.
type pipelineClient struct {
	*rrWindow
	clock          exchange.Clock
	flows          []pipelineFlow
	requests, into []byte
	busy           int // connections with requests in progress
}

func requestPipelined(over *atomic.Bool, c connection.List, w *rrWindow) error {
	poll, err := socket.NewPoller()
	if err != nil {
		return err
	}
	defer poll.Close()
	p := w.Params
	m := &pipelineClient{
		rrWindow: w, flows: make([]pipelineFlow, len(c)),
		requests: make([]byte, pipelineBuffer(p, int(p.RequestSize))), into: make([]byte, pipelineBuffer(p, int(p.ResponseSize))),
	}
	for i := range m.flows {
		m.flows[i] = pipelineFlow{inProgress: newInProgress(p), no: i, fd: c[i].FD()}
		if w.Broken[i] {
			continue
		}
		if err := poll.Add(m.flows[i].fd, i, socket.PollEdge); err != nil {
			return err
		}
	}
	m.clock = exchange.NewClock(w.Window)
	for i := range m.flows {
		if f := &m.flows[i]; !w.Broken[i] {
			m.busy++
			if err := m.begin(f, p.Pipeline, m.clock.Since()); err != nil {
				return err
			}
		}
	}
	for m.busy > 0 {
		events, err := poll.Wait(socket.PollTimeout)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := m.advance(&m.flows[e.Fd], e.Events&ending != 0); err != nil {
				return err
			}
		}
		if over.Load() {
			return exchange.ErrCancelled
		}
		if len(events) == 0 {
			if err := m.failSilent(); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin begins k requests.
func (m *pipelineClient) begin(f *pipelineFlow, k int, at time.Duration) error {
	f.begin(k, at)
	f.unsent += k * int(m.Params.RequestSize)
	f.heard = at
	return m.send(f)
}

// send sends what the connection takes.
func (m *pipelineClient) send(f *pipelineFlow) error {
	for f.unsent > 0 {
		n, err := socket.SendNow(f.fd, connection.Rest(m.requests, f.unsent))
		if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
			return nil
		}
		if err != nil {
			return m.lose(f, fmt.Errorf("send request: %w", err))
		}
		f.unsent -= n
	}
	return nil
}

// advance handles an event of a connection: ended if it is the last.
func (m *pipelineClient) advance(f *pipelineFlow, ended bool) error {
	if m.Broken[f.no] {
		return nil
	}
	if f.unsent > 0 {
		if err := m.send(f); err != nil || m.Broken[f.no] {
			return err
		}
	}
	for {
		n, err := socket.RecvNow(f.fd, m.into)
		if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
			return nil
		}
		if err == nil && n == 0 {
			err = connection.ErrPeerClosed
		}
		if err != nil {
			return m.lose(f, fmt.Errorf("receive response: %w", err))
		}
		at := m.clock.Since()
		k, err := f.receive(n, int(m.Params.ResponseSize), func(from time.Duration) { m.Done(f.no, from, at) })
		f.heard = at
		switch {
		case err != nil:
			return err
		case k > 0 && at < m.Bins.End:
			err = m.begin(f, k, at)
		case k > 0 && f.n == 0:
			m.busy--
		}
		if err != nil || m.Broken[f.no] || n < len(m.into) && !ended {
			return err
		}
	}
}

// failSilent ends the connections whose peer has been silent for too long.
func (m *pipelineClient) failSilent() error {
	at := m.clock.Since()
	for i := range m.flows {
		if f := &m.flows[i]; f.n > 0 && !m.Broken[i] && at-f.heard > connection.ReplyTimeout() {
			if err := m.lose(f, fmt.Errorf("receive response: %w within %s", connection.ErrNoReply, connection.ReplyTimeout())); err != nil {
				return err
			}
		}
	}
	return nil
}

// lose ends a connection, which failed with err.
func (m *pipelineClient) lose(f *pipelineFlow, err error) error {
	if f.n > 0 {
		size := int(m.Params.RequestSize)
		m.unread += int64(f.n - (f.unsent+size-1)/size)
		f.n = 0
		m.busy--
	}
	return m.fail(f.no, err)
}

// pipelineServed is a connection of the server; fd is below 0 once it has ended.
type pipelineServed struct {
	toAnswer
	fd int
}

// respondPipelined is the server's loop over all connections, on one thread. It reads on while it cannot send, so neither end waits for the other.
func respondPipelined(over *atomic.Bool, c connection.List, p traffic.Params) (answers int64, err error) {
	poll, err := socket.NewPoller()
	if err != nil {
		return 0, err
	}
	defer poll.Close()
	flows := make([]pipelineServed, len(c))
	for i := range flows {
		flows[i].fd = c[i].FD()
		if err := poll.Add(flows[i].fd, i, socket.PollEdge); err != nil {
			return 0, err
		}
	}
	responses, into := make([]byte, pipelineBuffer(p, int(p.ResponseSize))), make([]byte, pipelineBuffer(p, int(p.RequestSize)))
	for open := len(flows); open > 0; {
		events, err := poll.Wait(socket.PollTimeout)
		if err != nil {
			return answers, err
		}
		for _, e := range events {
			f := &flows[e.Fd]
			if f.fd < 0 {
				continue
			}
			n, err := f.serve(p, into, responses, e.Events&ending != 0)
			answers += n
			_, failed := connection.FailureOf(err)
			switch {
			case failed: // the client closed it, or counts what broke it
				f.fd = -1
				open--
			case err != nil:
				return answers, err
			}
		}
		if over.Load() {
			return answers, exchange.ErrCancelled
		}
	}
	return answers, nil
}

// serve handles an event of a connection: ended if it is the last. It returns how many responses were sent.
func (f *pipelineServed) serve(p traffic.Params, into, responses []byte, ended bool) (answers int64, err error) {
	send := func() error {
		for f.owed > 0 {
			n, err := socket.SendNow(f.fd, connection.Rest(responses, f.owed))
			if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
				return nil
			}
			if err != nil {
				return fmt.Errorf("send response: %w", err)
			}
			answers += f.answered(n, p)
		}
		return nil
	}
	if err := send(); err != nil {
		return answers, err
	}
	for {
		n, err := socket.RecvNow(f.fd, into)
		if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
			return answers, nil
		}
		if err == nil && n == 0 {
			return answers, connection.ErrPeerClosed
		}
		if err == nil {
			if err = f.receive(n, p); err == nil {
				err = send()
			}
		} else {
			err = fmt.Errorf("receive request: %w", err)
		}
		if err != nil || n < len(into) && !ended {
			return answers, err
		}
	}
}
