package udp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
	"tare/internal/warning"
)

// rr exchanges one datagram in each direction. The next exchange starts when the response has
// arrived, or on a schedule.
type rr struct{ net socket.UDP }

// rrHeaderSize is the size of the header of each request and response: the trial's tag and the
// number of the exchange.
const rrHeaderSize = 16

// replyTimeout is how long a response may take. After that the exchange is lost and the next one
// starts.
const replyTimeout = 200 * time.Millisecond

func (rr) Spec() traffic.Spec {
	return traffic.Spec{Title: "UDP request/response", StandsFor: "request and response without connections: QUIC's handshake, game state, NTP", Datagrams: true, WorkloadSpec: study.WorkloadSpec{
		Kind:     "udp_rr",
		Metric:   "transaction_rate",
		Params:   []string{"request_size", "response_size", "family", "send_buffer", "receive_buffer", "placement", "slice", "warmup", "duration"},
		Optional: []string{"transaction_rate", "wait", "scheduling", "pairs"},
		Defaults: study.Workload{
			RequestSize: rrHeaderSize, ResponseSize: rrHeaderSize, Family: study.IPv4, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(),
			Placement: study.OneCore,
		},
		Lengths: traffic.ExchangeLengths(),
	}}
}

// rrParams sets what is not a parameter of udp_rr, and refuses sizes smaller than the header.
func rrParams(p traffic.Params) (traffic.Params, error) {
	p.Streams, p.Rounds, p.Offload, p.Fragment = 1, 0, study.Off, study.On
	for _, s := range []struct {
		name  string
		bytes int
	}{{"request_size", int(p.RequestSize)}, {"response_size", int(p.ResponseSize)}} {
		if s.bytes < rrHeaderSize || s.bytes > socket.MaxPayload {
			return p, fmt.Errorf("udp_rr: %s is %d; each datagram has a header of %d bytes: use %d to %d", s.name, s.bytes, rrHeaderSize, rrHeaderSize, socket.MaxPayload)
		}
	}
	p.PayloadSize = max(p.RequestSize, p.ResponseSize)
	_, err := checkParams(p, rrHeaderSize)
	return p, err
}

func (w rr) Listen(p traffic.Params) (traffic.Server, error) {
	p, err := rrParams(p)
	if err != nil {
		return nil, err
	}
	return listen(w.net, p, answerRR)
}

func (w rr) Dial(ctx context.Context, p traffic.Params, _ traffic.Peer) (traffic.Report, error) {
	return traffic.DriveWhole(ctx, p, w.dial)
}

func (w rr) Open(ctx context.Context, p traffic.Params) (traffic.Session, error) {
	return traffic.DriveInSlices(ctx, p, w.dial)
}

func (w rr) dial(ctx context.Context, p traffic.Params) (traffic.ClientDriven, error) {
	p, err := rrParams(p)
	if err != nil {
		return nil, err
	}
	to, err := checkParams(p, rrHeaderSize)
	if err != nil {
		return nil, err
	}
	s := &rrSession{p: p, net: w.net, hist: traffic.NewDistribution(), lost: map[uint64]bool{}, request: make([]byte, p.RequestSize), response: make([]byte, max(p.PayloadSize, maxMessage)+1), restore: thread.PauseGC()}
	if s.endpoint, err = connectClient(ctx, w.net, p, to, true); err != nil {
		s.restore()
		return nil, err
	}
	s.m = s.wire.Messenger(0)
	return s, nil
}

func (rr) Metrics(_ traffic.Params, client, _ traffic.Report) (map[string]float64, *result.Series) {
	w := client.Window
	m := map[string]float64{}
	if w.Seconds > 0 {
		m["transaction_rate"] = float64(w.Messages) / w.Seconds
	}
	w.RTT.AddPercentiles(m, "rtt")
	var sent, answered int64
	if client.Datagrams != nil {
		for _, f := range client.Datagrams.Flows {
			sent += f.SentCounted
			answered += f.ReceivedCounted
		}
	}
	if sent > 0 {
		m["loss_ratio"] = float64(sent-answered) / float64(sent)
	}
	return m, &result.Series{Metric: "transaction_rate", Interval: w.Interval, Values: w.Series}
}

// rrSession is the client, which measures the time.
type rrSession struct {
	*endpoint
	p                 traffic.Params
	net               socket.UDP
	m                 socket.Messenger
	request, response []byte
	seq               uint64
	hist              *traffic.Distribution
	flow              traffic.FlowCount
	lost              map[uint64]bool // exchanges that timed out, a few a second at most, until their response comes
	duplicates        int64
	late, foreign     int64
	rtt               time.Duration // the least so far, 0 before the first
	driven            time.Duration
	window            traffic.Window
	restore           func()
}

// Drive runs exchanges for warmup + timed and counts those that end in the second part. With a rate,
// an exchange starts at its slot, or later as soon as the previous one has ended, and its round
// trip is measured from the slot.
func (s *rrSession) Drive(ctx context.Context, warmup, timed time.Duration) error {
	p := traffic.Params{Warmup: warmup, Duration: timed, Slice: s.p.Slice}
	b := traffic.NewBinCounter(p).ReportTo(s.p.Meter.Begin(1), 0)
	loop := traffic.LoopCounter{BinCounter: b, Flows: 1}
	if s.p.TransactionRate > 0 {
		loop.Flows = 0
	}
	err := s.p.Threading().Run(1, func(int) error {
		over, stop := thread.Cancelled(ctx)
		defer stop()
		var open *pacer
		var waiter slotWaiter
		start := s.clock.now()
		if s.p.TransactionRate > 0 {
			sched, err := newSchedule(1, uint64(s.p.TransactionRate))
			if err != nil {
				return err
			}
			open = &pacer{schedule: sched, start: start, end: sched.before(int64(b.End))}
			waiter = newSlotWaiter(sched, s.net, s.p)
			s.window.Slots += open.end - sched.before(int64(warmup))
		}
		for at := time.Duration(0); at < b.End; {
			begun := at
			if open != nil {
				if open.next >= open.end {
					break
				}
				begun = time.Duration(open.at(open.next))
				if at < begun {
					waiter.wait(int64(begun - at))
					at = time.Duration(s.clock.now() - start)
					if over.Load() {
						return context.Cause(ctx)
					}
					continue
				}
				open.next++
			}
			counts := begun >= b.Warmup && timed > 0
			ok, err := s.exchange(start+int64(at), counts)
			if err != nil {
				return err
			}
			if over.Load() {
				return context.Cause(ctx)
			}
			at = time.Duration(s.clock.now() - start)
			if ok {
				s.rtt = leastRTT(s.rtt, at-begun)
			}
			if loop.Add(begun, at, ok) && ok {
				s.hist.Record(at - begun)
			}
		}
		if open != nil {
			s.window.Missed += open.end - max(open.next, open.before(int64(warmup)))
		}
		s.driven += time.Duration(s.clock.now() - start)
		return nil
	})
	if err != nil {
		return err
	}
	s.window.Messages += loop.Counted()
	s.window.Seconds += loop.Time().Seconds()
	if timed > 0 {
		s.window.Series = append(s.window.Series, traffic.Series(p, []*traffic.BinCounter{b})...)
		s.window.Interval = min(traffic.SeriesInterval, timed).Seconds()
		s.window.AddProfile(b)
	}
	return nil
}

// exchange sends a request at the clock reading now and waits for its response. ok is false if the
// exchange is lost.
func (s *rrSession) exchange(now int64, counts bool) (ok bool, err error) {
	le := binary.LittleEndian
	le.PutUint64(s.request, s.tag)
	le.PutUint64(s.request[8:], s.seq)
	for {
		_, err = s.m.Send(s.request)
		if !socket.IsAgain(err) {
			break
		}
		if s.clock.now()-now >= int64(replyTimeout) {
			return false, errors.New("send request: the kernel had no buffer space for it within " + replyTimeout.String())
		}
	}
	if err != nil {
		return false, fmt.Errorf("send request: %w", peerGoneError(err))
	}
	s.flow.Sent++
	if counts {
		s.flow.SentCounted++
	}
	for {
		n, err := s.m.Recv(s.response)
		switch {
		case socket.IsAgain(err): // interrupted or timed out
			if s.clock.now()-now >= int64(replyTimeout) {
				s.lost[s.seq] = true
				s.seq++
				return false, nil
			}
			continue
		case err != nil:
			return false, fmt.Errorf("receive response: %w", peerGoneError(err))
		}
		seq, ok := s.reply(s.response[:n])
		switch {
		case !ok && s.handshakeMessage(s.response[:n]): // a repeated one, which came late
		case !ok:
			s.foreign++
		case seq < s.seq:
			if s.lost[seq] {
				delete(s.lost, seq)
				s.late++
			} else {
				s.duplicates++
			}
		case seq == s.seq:
			s.seq++
			s.flow.Received++
			if counts {
				s.flow.ReceivedCounted++
			}
			return true, nil
		default:
			s.foreign++
		}
	}
}

// reply reads the number of the exchange from a response of this trial.
func (s *rrSession) reply(b []byte) (uint64, bool) {
	if len(b) != int(s.p.ResponseSize) || binary.LittleEndian.Uint64(b) != s.tag {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[8:]), true
}

// handshakeMessage reports whether b is a message of this trial's handshake.
func (e *endpoint) handshakeMessage(b []byte) bool {
	m, ok := parseMessage(b)
	return ok && m.tag == e.tag
}

// peerGoneError explains an error that means that the peer's port is closed.
func peerGoneError(err error) error {
	if errors.Is(err, socket.ErrRefused) {
		return errors.New("the peer has exited: its host reports that the port is closed")
	}
	return err
}

// byeCount is how often the client sends bye. Any may be lost; the controller also tells the
// server.
const byeCount = 3

func (s *rrSession) RTT() time.Duration { return s.rtt }

// leastRTT is the smaller of a round trip and the least before it, which is 0 if there was none.
func leastRTT(before, rtt time.Duration) time.Duration {
	if before == 0 {
		return rtt
	}
	return min(before, rtt)
}

func (s *rrSession) Close() traffic.Report {
	defer s.restore()
	defer s.wire.Close()
	bye := message{kind: msgBye, flows: 1, tag: s.tag, token: s.p.Token}.bytes()
	for range byeCount {
		_ = s.wire.SendOne(0, bye)
	}
	st := s.wire.State()
	r := s.report(s.p, s.flow.Sent*int64(s.p.RequestSize), s.flow.Received*int64(s.p.ResponseSize), s.flow.Sent)
	r.Traffic, r.Window = s.driven.Seconds(), s.window
	r.Window.RTT = s.hist
	r.Datagrams = exchanged([]traffic.FlowCount{s.flow}, s.duplicates, s.late, s.foreign, st)
	r.Notes, r.OwnTime = exchangeNotes(s.flow, r.Window), s.ownTime()
	return r
}

// ownTime is [traffic.OwnTime] of udp_rr, with the numbers in its datagrams; nil for a schedule.
func (s *rrSession) ownTime() *float64 {
	if s.p.TransactionRate > 0 {
		return nil
	}
	loop := traffic.LoopCounter{BinCounter: traffic.NewBinCounter(traffic.Params{Duration: 10 * time.Second}), Flows: 1}
	hist, answer, start := traffic.NewDistribution(), make([]byte, s.p.ResponseSize), s.clock.now()
	binary.LittleEndian.PutUint64(answer, s.tag)
	return traffic.OwnTime(func() time.Duration { return time.Duration(s.clock.now() - start) }, func(from, at time.Duration) {
		binary.LittleEndian.PutUint64(s.request, s.tag)
		binary.LittleEndian.PutUint64(s.request[8:], s.seq)
		_, ok := s.reply(answer)
		if loop.Add(from, at, ok) && ok {
			hist.Record(at - from)
		}
	})
}

// exchangeNotes are the notes on lost and missed exchanges of a client with these counts.
func exchangeNotes(all traffic.FlowCount, w traffic.Window) (notes []result.Note) {
	if lost := all.Sent - all.Received; lost > 0 {
		notes = append(notes, warning.NewNote(warning.LostExchanges, "%d of %d exchanges had no response within %s", lost, all.Sent, replyTimeout))
	}
	if w.Missed*1000 > w.Slots {
		notes = append(notes, warning.NewNote(warning.GeneratorLimited, "%d of %d transactions were not started: each waits for the response of the previous one", w.Missed, w.Slots))
	}
	return notes
}

// report returns the part of the report that is the same for both endpoints of an exchange.
func (e *endpoint) report(p traffic.Params, sent, received, messages int64) traffic.Report {
	st := e.wire.State()
	r := traffic.Report{Connections: p.Streams, Refused: e.refused, Messages: messages,
		End: result.End{CPU: p.Pinned(), SendBuffer: st.SendBuffer, ReceiveBuffer: st.ReceiveBuffer, Sent: sent, Received: received}}
	r.TCP.Wire, r.TCP.Segments = uint64(sent), uint64(messages)
	return r
}

// exchanged is the count of one endpoint of an exchange.
func exchanged(flows []traffic.FlowCount, duplicates, late, foreign int64, st socket.UDPState) *traffic.Datagrams {
	d := traffic.CountDatagrams(flows)
	*d.Duplicates, *d.Late, *d.Foreign, d.SocketDrops = duplicates, late, foreign+st.UnknownPeers, st.Dropped
	return d
}

// answerRR runs the server of udp_rr: it answers each request of the trial until the client has
// finished.
func answerRR(ctx context.Context, e *endpoint, p traffic.Params, peer traffic.Peer) (traffic.Report, error) {
	var got, sent, foreign int64
	requests := newSequenceTracker(1)
	start := e.clock.now()
	err := p.Threading().Run(1, func(int) error {
		m := e.wire.Messenger(0)
		buf := make([]byte, max(p.PayloadSize, maxMessage)+1)
		answer := make([]byte, p.ResponseSize)
		over, stop := thread.Cancelled(ctx)
		defer stop()
		if err := e.wire.SendOne(0, e.message(msgGo, 0, 1)); err != nil && !errors.Is(err, socket.ErrRefused) && !socket.IsAgain(err) {
			return fmt.Errorf("start the trial: %w", err)
		}
		for {
			if over.Load() {
				return fmt.Errorf("wait for requests: %d arrived: %w", got, context.Cause(ctx))
			}
			n, err := m.Recv(buf)
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
				return fmt.Errorf("receive request: %w", err)
			}
			b := buf[:n]
			if n != int(p.RequestSize) || binary.LittleEndian.Uint64(b) != e.tag {
				msg, ok := parseMessage(b)
				switch {
				case !ok || !hasToken(msg, p.Token):
					foreign++
				case msg.kind == msgBye:
					return nil
				case msg.kind == msgReady:
					_ = e.wire.SendOne(0, e.message(msgGo, 0, 1)) // the first one was lost; this one may be lost, too
				}
				continue
			}
			if requests.arrive(binary.LittleEndian.Uint64(b[8:]), 0, false) == duplicate {
				continue // which the network made: the client sends no request twice
			}
			got++
			copy(answer, b[:rrHeaderSize])
			if _, err := m.Send(answer); err == nil {
				sent++
			} else if !socket.IsAgain(err) && !errors.Is(err, socket.ErrRefused) {
				return fmt.Errorf("send response: %w", err)
			}
		}
	})
	if err != nil {
		return traffic.Report{}, err
	}
	st := e.wire.State()
	r := e.report(p, sent*int64(p.ResponseSize), got*int64(p.RequestSize), sent)
	r.Traffic = time.Duration(e.clock.now() - start).Seconds()
	r.Datagrams = exchanged([]traffic.FlowCount{{Sent: sent, Received: got}}, requests.duplicates, 0, foreign, st)
	return r, nil
}
