package agent

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"

	"tare/internal/traffic"
)

// shared is the one server of several clients.
type shared struct {
	*Client
	warm, over chan struct{} // closed when all clients have warmed up, and when one has failed or the server has ended
	end        func()        // closes over, once
	mu         sync.Mutex
	cold       int     // clients that have not warmed up
	left       int     // clients that have not reported
	failed     *Client // that failed first; nil if none has
	why        error   // of that
}

// dial runs the client's part of a trial in one piece. Clients of one server connect and warm up, and begin the timed part together.
func (t *Trial) dial(ctx context.Context) (traffic.Report, error) {
	if t.shared == nil {
		return t.client.Dial(ctx, t.params)
	}
	p := t.params
	p.Slice = p.Duration
	if _, err := t.client.Open(ctx, p); err != nil {
		return traffic.Report{}, err
	}
	if err := t.shared.meet(ctx); err != nil {
		return traffic.Report{}, err
	}
	if _, err := t.client.Slice(ctx, p.Duration); err != nil {
		return traffic.Report{}, err
	}
	return t.client.Report(ctx)
}

// errEndedEarly is the error of a client that waits for others, of which none has failed.
var errEndedEarly = errors.New("the server ended before all its clients had warmed up")

// meet waits until all clients have warmed up. Its error is that of the client that failed meanwhile.
func (s *shared) meet(ctx context.Context) error {
	s.mu.Lock()
	if s.cold--; s.cold == 0 {
		close(s.warm)
	}
	s.mu.Unlock()
	select {
	case <-s.warm:
		return nil
	case <-s.over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.why, errEndedEarly)
}

// otherClientError is the error of the client that failed first, because of which the server of the others was cancelled.
type otherClientError struct{ error }

func (e otherClientError) Unwrap() error { return e.error }

// BeginFanIn opens the port of a server for several clients, whose parameters have one token. It returns a trial for each client; all must be run
// at once, and none has an event. The first has the report of the server, which counts all clients together; in the others it is empty. If one
// fails, all do.
func BeginFanIn(ctx context.Context, clients []*Client, server *Client, clientSides []traffic.Params, serverSide traffic.Params) ([]*Trial, error) {
	first, err := Begin(ctx, clients[0], server, clientSides[0], serverSide)
	if err != nil {
		return nil, err
	}
	s := &shared{Client: server, left: len(clients), cold: len(clients), warm: make(chan struct{}), over: make(chan struct{})}
	s.end = sync.OnceFunc(func() { close(s.over) })
	ended := first.serverDone
	var trials []*Trial
	for i, client := range clients {
		side := clientSides[i]
		side.Address = first.params.Address
		trials = append(trials, &Trial{client: client, server: server, params: side, listenAddr: first.listenAddr, serverDone: make(chan endpointResult, 1), shared: s})
	}
	go func() { s.deliver(trials, <-ended) }()
	return trials, nil
}

// deliver passes the result of the server to the trials. If it was cancelled because one client failed, the others get the error of that one.
func (s *shared) deliver(trials []*Trial, r endpointResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	for i, t := range trials {
		own := r
		if i > 0 {
			own.report = traffic.Report{}
		}
		if s.failed != nil && s.failed != t.client && r.err != nil && strings.Contains(r.err.Error(), cancelledText) {
			own.err = otherClientError{s.why}
		}
		t.serverDone <- own // has capacity for it
	}
}

// note keeps the first error of a client.
func (s *shared) note(of *Client, err error) {
	if s == nil || err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed, s.why = of, err
	}
	s.end()
}

// SendPeerReport tells the server that all clients have ended, when the last one has. It counts by itself what they sent.
func (s *shared) SendPeerReport(ctx context.Context, _ traffic.Report) error {
	s.mu.Lock()
	s.left--
	left := s.left
	s.mu.Unlock()
	if left > 0 {
		return nil
	}
	return s.Client.SendPeerReport(ctx, traffic.Report{})
}
