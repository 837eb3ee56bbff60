package agent

import (
	"context"
	"strings"
	"sync"

	"tare/internal/traffic"
)

// shared is the one server of several clients.
type shared struct {
	*Client
	mu     sync.Mutex
	left   int     // clients that have not reported
	failed *Client // that failed first; nil if none has
	why    error   // of that
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
	s := &shared{Client: server, left: len(clients)}
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
