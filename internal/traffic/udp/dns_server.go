package udp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/dns"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// dnsServer is the resolver of udp_dns: one thread, which answers for the trial's zone.
type dnsServer struct {
	*endpoint
	p       traffic.Params
	zone    *dns.Zone
	senders []socket.Messenger
	answer  []byte
	counts  []traffic.FlowCount
	queries []sequenceTracker // by flow; the client numbers the queries of a flow one after another
	foreign int64
}

// serve answers queries until the client has finished.
func (s *dnsServer) serve(ctx context.Context, peer traffic.Peer) (traffic.Report, error) {
	s.senders, s.answer = sendersOf(s.wire, s.p.Streams), make([]byte, s.p.ResponseSize)
	s.counts = make([]traffic.FlowCount, s.p.Streams)
	for range s.p.Streams {
		s.queries = append(s.queries, newSequenceTracker(s.p.Streams))
	}
	start := s.clock.now()
	if err := s.p.Threading().Run(1, func(int) error { return s.run(ctx, peer) }); err != nil {
		return traffic.Report{}, err
	}
	var duplicates int64
	for i := range s.counts {
		duplicates += s.queries[i].duplicates
	}
	counted := exchanged(s.counts, duplicates, 0, s.foreign, s.wire.State())
	all := counted.Total()
	r := s.report(s.p, all.Sent*int64(s.p.ResponseSize), all.Received*int64(s.p.RequestSize), all.Sent)
	r.Traffic, r.Datagrams = time.Duration(s.clock.now()-start).Seconds(), counted
	return r, nil
}

func (s *dnsServer) run(ctx context.Context, peer traffic.Peer) error {
	over, stop := thread.Cancelled(ctx)
	defer stop()
	in := socket.NewInbox(longest(int(s.p.PayloadSize)), false)
	if err := s.wire.SendOne(0, s.message(msgGo, 0, 1)); err != nil && !errors.Is(err, socket.ErrRefused) && !socket.IsAgain(err) {
		return fmt.Errorf("start the trial: %w", err)
	}
	for {
		if over.Load() {
			return fmt.Errorf("wait for queries: %w", context.Cause(ctx))
		}
		err := s.wire.Receive(in)
		switch {
		case socket.IsAgain(err):
			select {
			case <-peer: // the client has finished, and its bye was lost
				return nil
			default:
			}
			continue
		case errors.Is(err, socket.ErrRefused):
			continue // the client has exited; its bye or its report tells whether it had finished
		case err != nil:
			return fmt.Errorf("receive query: %w", err)
		}
		for i := range in.N {
			ended, err := s.arrived(in.Flow, in.Bufs[i][:in.Sizes[i]])
			if ended || err != nil {
				return err
			}
		}
	}
}

// arrived answers a query. It reports whether the datagram is the client's bye.
func (s *dnsServer) arrived(flow int, b []byte) (ended bool, err error) {
	if flow < 0 {
		s.foreign++
		return false, nil
	}
	if !s.zone.Answer(b, s.answer) {
		m, ok := parseMessage(b)
		switch {
		case !ok || !hasToken(m, s.p.Token):
			s.foreign++
		case m.kind == msgBye:
			return true, nil
		case m.kind == msgReady:
			_ = s.wire.SendOne(0, s.message(msgGo, 0, 1)) // the first one was lost; this one may be lost, too
		}
		return false, nil
	}
	if q := &s.queries[flow]; q.arrive(q.extend(binary.BigEndian.Uint16(b)), 0, false) == duplicate {
		return false, nil // which the network made
	}
	s.counts[flow].Received++
	switch _, err := s.senders[flow].Send(s.answer); {
	case err == nil:
		s.counts[flow].Sent++
	case !socket.IsAgain(err) && !errors.Is(err, socket.ErrRefused):
		return false, fmt.Errorf("send answer: %w", err)
	}
	return false, nil
}
