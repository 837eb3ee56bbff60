package traffic

import (
	"context"
	"errors"
	"time"

	"tare/internal/result"
	"tare/internal/study"
)

// udpStream sends datagrams at a set rate, or as fast as it goes, and accounts
// for each of them.
type udpStream struct{ net network }

func (udpStream) Spec() Spec {
	return Spec{Title: "UDP stream", Datagrams: true, WorkloadSpec: study.WorkloadSpec{
		Kind:   "udp_stream",
		Metric: "goodput",
		Bulk:   true,
		Params: []string{"flows", "payload_size", "rate", "burst", "offload", "fragment", "direction", "family",
			"send_buffer", "receive_buffer", "placement", "slice", "warmup", "duration"},
		Optional: []string{"packet_rate", "pairs", "tool", "verify_with"},
		Defaults: study.Workload{
			Flows: 1, PayloadSize: 1400, Rate: 500e6, Burst: 64, Offload: study.Off, Fragment: study.Off, Direction: study.Forward,
			Family: study.IPv4, SendBuffer: study.AutoBuffer(), ReceiveBuffer: study.Buffer(4 << 20), Placement: study.TwoCores,
		},
		Lengths: map[string]study.Length{
			study.Quick:    {Warmup: study.Duration(100 * time.Millisecond), Duration: study.Duration(1500 * time.Millisecond), Slice: streamSlice},
			study.Standard: {Warmup: study.Duration(500 * time.Millisecond), Duration: study.Duration(4 * time.Second), Slice: streamSlice},
			study.Paper:    {Warmup: study.Duration(10 * time.Second), Duration: study.Duration(60 * time.Second)},
		},
		ReverseWhole: true,
	}}
}

func (w udpStream) Listen(p Params) (Server, error) {
	if _, err := checkUDP(p, headerSize); err != nil {
		return nil, err
	}
	return listenUDP(w.net, p, w.serve)
}

// serve is the server's part of a trial.
func (w udpStream) serve(ctx context.Context, e *udpEnd, p Params, peer Peer) (Report, error) {
	if p.Reverse {
		s, err := newUDPSender(e, w.net, p)
		if err == nil {
			err = s.drive(ctx, p.Warmup, p.Duration, 0)
		}
		if err != nil {
			return Report{}, err
		}
		return s.report(), nil
	}
	// This is what the client waits for. If it is lost, its next ready is answered.
	_ = e.wire.say(0, e.message(sayGo, 0, uint16(max(1, p.Streams))))
	return newUDPReceiver(e, w.net, p).run(ctx, peer)
}

func (w udpStream) Dial(ctx context.Context, p Params, peer Peer) (Report, error) {
	if !p.Reverse {
		s, err := w.sender(ctx, p)
		if err != nil {
			return Report{}, err
		}
		defer s.Close()
		if err := s.drive(ctx, p.Warmup, p.Duration, 0); err != nil {
			return Report{}, err
		}
		return s.report(), nil
	}
	defer quiet()()
	to, err := checkUDP(p, headerSize)
	if err != nil {
		return Report{}, err
	}
	e, err := greet(ctx, w.net, p, to, false)
	if err != nil {
		return Report{}, err
	}
	defer e.wire.close()
	r := newUDPReceiver(e, w.net, p)
	r.reverse = true
	return r.run(ctx, peer)
}

// Open begins a trial in slices. Only the client's sending can be cut: it knows
// when a slice begins.
func (w udpStream) Open(ctx context.Context, p Params) (Session, error) {
	if p.Reverse {
		return nil, errors.New("udp_stream in reverse cannot be driven in slices: set slice to the duration or longer")
	}
	s, err := w.sender(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := s.drive(ctx, p.Warmup, 0, 0); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// sender makes the client's end of a trial that it sends in.
func (w udpStream) sender(ctx context.Context, p Params) (*udpSession, error) {
	to, err := checkUDP(p, headerSize)
	if err != nil {
		return nil, err
	}
	s := &udpSession{restore: quiet()}
	e, err := greet(ctx, w.net, p, to, true)
	if err == nil {
		if s.udpSender, err = newUDPSender(e, w.net, p); err != nil {
			e.wire.close()
		}
	}
	if err != nil {
		s.restore()
		return nil, err
	}
	return s, nil
}

// udpSession is a sending client.
type udpSession struct {
	*udpSender
	restore func()
	slices  uint32
}

func (s *udpSession) Slice(ctx context.Context, d time.Duration) error {
	p := s.p.slice(d)
	first := s.slices * uint32((p.Duration+SeriesInterval-1)/SeriesInterval)
	s.slices++
	return s.drive(ctx, p.Warmup, p.Duration, first)
}

func (s *udpSession) Close() Report {
	defer s.restore()
	defer s.wire.close()
	return s.report()
}

func (udpStream) Metrics(p Params, client, server Report) (map[string]float64, *result.Series) {
	sender, receiver := client, server
	if p.Reverse {
		sender, receiver = server, client
	}
	m := map[string]float64{}
	if s := receiver.Window.Seconds; s > 0 {
		m["goodput"] = float64(receiver.Window.Received) * 8 / s
	}
	if s := sender.Window.Seconds; s > 0 {
		m["offered_load"] = float64(sender.Window.Sent) * 8 / s
	}
	datagramMetrics(m, sender.Datagrams, receiver.Datagrams)
	bits := make([]float64, len(receiver.Window.Series))
	for i, v := range receiver.Window.Series {
		bits[i] = v * 8
	}
	return m, &result.Series{Metric: "goodput", Interval: receiver.Window.Interval, Values: bits}
}

// datagramMetrics adds what the accounts of both ends say together.
func datagramMetrics(m map[string]float64, sender, receiver *Datagrams) {
	if sender == nil || receiver == nil {
		return
	}
	var sent, inTime, received int64
	for _, f := range sender.Flows {
		sent += f.SentCounted
	}
	for _, f := range receiver.Flows {
		inTime += f.ReceivedCounted
		received += f.Received
	}
	// Lost is what never came. Of the late ones it is known that they did.
	if sent > 0 {
		m["loss_ratio"] = float64(sent-inTime-receiver.Late) / float64(sent)
	}
	if received > 0 {
		m["reordered_ratio"] = float64(receiver.Reordered) / float64(received)
	}
	m["duplicates"], m["late"] = float64(receiver.Duplicates), float64(receiver.Late)
	if d := receiver.Delay; d.Count() > 0 {
		m["delay_p50"], m["delay_p99"], m["delay_p999"] = d.Quantile(0.5), d.Quantile(0.99), d.Quantile(0.999)
	}
	if d := receiver.Variation; d.Count() > 0 {
		m["delay_variation_p50"], m["delay_variation_p99"] = d.Quantile(0.5), d.Quantile(0.99)
	}
}
