package udp

import (
	"context"
	"errors"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// stream sends datagrams at a set rate or as fast as possible, and counts each of them.
type stream struct{ net socket.UDP }

func (stream) Spec() traffic.Spec {
	return traffic.Spec{Title: "UDP stream", StandsFor: "voice, video, telemetry at a given rate: loss and delay", Datagrams: true, WorkloadSpec: study.WorkloadSpec{
		Kind:   "udp_stream",
		Metric: "goodput",
		Bulk:   true,
		Params: []string{"flows", "payload_size", "rate", "burst", "offload", "fragment", "direction", "family",
			"send_buffer", "receive_buffer", "placement", "slice", "warmup", "duration"},
		Optional: []string{"packet_rate", "wait", "scheduling", "pairs", "tool", "verify_with"},
		Defaults: study.Workload{
			Flows: 1, PayloadSize: 1400, Rate: 500e6, Burst: 64, Offload: study.Off, Fragment: study.Off, Direction: study.Forward,
			Family: study.IPv4, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.Buffer(4 << 20), Placement: study.TwoCores,
		},
		Lengths: map[string]study.Length{
			study.Quick:    {Warmup: quantity.Duration(100 * time.Millisecond), Duration: quantity.Duration(700 * time.Millisecond), Slice: traffic.StreamSlice},
			study.Standard: {Warmup: quantity.Duration(500 * time.Millisecond), Duration: quantity.Duration(1200 * time.Millisecond), Slice: traffic.StreamSlice},
			study.Paper:    {Warmup: quantity.Duration(10 * time.Second), Duration: quantity.Duration(60 * time.Second)},
		},
		ReverseWhole: true,
	}}
}

func (w stream) Listen(p traffic.Params) (traffic.Server, error) {
	if _, err := checkParams(p, headerSize); err != nil {
		return nil, err
	}
	return listen(w.net, p, w.serve)
}

// serve runs the server's part of a trial.
func (w stream) serve(ctx context.Context, e *endpoint, p traffic.Params, peer traffic.Peer) (traffic.Report, error) {
	if p.Reverse() {
		s, err := newSender(e, w.net, p)
		if err == nil {
			err = s.drive(ctx, p.Warmup, p.Duration, 0)
		}
		if err != nil {
			return traffic.Report{}, err
		}
		return s.report(), nil
	}
	// The client waits for this go. If it is lost, the receiver answers the client's next ready.
	_ = e.wire.SendOne(0, e.message(msgGo, 0, uint16(max(1, p.Streams))))
	return newReceiver(e, w.net, p).run(ctx, peer)
}

func (w stream) Dial(ctx context.Context, p traffic.Params, peer traffic.Peer) (traffic.Report, error) {
	if !p.Reverse() {
		s, err := w.sender(ctx, p)
		if err != nil {
			return traffic.Report{}, err
		}
		defer s.Close()
		if err := s.drive(ctx, p.Warmup, p.Duration, 0); err != nil {
			return traffic.Report{}, err
		}
		return s.report(), nil
	}
	defer thread.PauseGC()()
	to, err := checkParams(p, headerSize)
	if err != nil {
		return traffic.Report{}, err
	}
	e, err := connectClient(ctx, w.net, p, to, false)
	if err != nil {
		return traffic.Report{}, err
	}
	defer e.wire.Close()
	r := newReceiver(e, w.net, p)
	r.reverse = true
	return r.run(ctx, peer)
}

// Open begins a trial in slices. That works only if the client sends, because only the client knows
// when a slice begins.
func (w stream) Open(ctx context.Context, p traffic.Params) (traffic.Session, error) {
	if p.Reverse() {
		return nil, errors.New("udp_stream in reverse cannot run in slices: set slice to the duration or longer")
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

// sender sets up the client of a trial in which it sends.
func (w stream) sender(ctx context.Context, p traffic.Params) (*streamSession, error) {
	to, err := checkParams(p, headerSize)
	if err != nil {
		return nil, err
	}
	s := &streamSession{restore: thread.PauseGC()}
	e, err := connectClient(ctx, w.net, p, to, true)
	if err == nil {
		if s.sender, err = newSender(e, w.net, p); err != nil {
			e.wire.Close()
		}
	}
	if err != nil {
		s.restore()
		return nil, err
	}
	return s, nil
}

// streamSession is a client that sends.
type streamSession struct {
	*sender
	restore func()
	slices  uint32
}

func (s *streamSession) Slice(ctx context.Context, d time.Duration) error {
	p := s.p.SliceTransfer(d)
	first := s.slices * uint32((p.Duration+traffic.SeriesInterval-1)/traffic.SeriesInterval)
	s.slices++
	return s.drive(ctx, p.Warmup, p.Duration, first)
}

func (s *streamSession) Close() traffic.Report {
	defer s.restore()
	defer s.wire.Close()
	return s.report()
}

func (stream) Metrics(p traffic.Params, client, server traffic.Report) (map[string]float64, *result.Series) {
	sender, receiver := client, server
	if p.Reverse() {
		sender, receiver = server, client
	}
	m := map[string]float64{}
	if s := receiver.Window.Seconds; s > 0 {
		m["goodput"] = float64(receiver.Window.Received) * 8 / s
		if size := p.PayloadSize; size > 0 && p.Fragment != study.On { // a datagram is then one packet
			m["packet_rate"] = float64(receiver.Window.Received) / float64(size) / s
		}
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

// datagramMetrics adds the metrics that need the counts of both endpoints.
func datagramMetrics(m map[string]float64, sender, receiver *traffic.Datagrams) {
	if sender == nil || receiver == nil {
		return
	}
	got := receiver.Total()
	sent, inTime, received := sender.Total().SentCounted, got.ReceivedCounted, got.Received
	// Lost datagrams never arrived. Late ones did.
	if sent > 0 {
		m["loss_ratio"] = float64(sent-inTime-traffic.Count(receiver.Late)) / float64(sent)
	}
	if received > 0 {
		m["reordered_ratio"] = float64(traffic.Count(receiver.Reordered)) / float64(received)
	}
	m["duplicates"], m["late"] = float64(traffic.Count(receiver.Duplicates)), float64(traffic.Count(receiver.Late))
	receiver.Delay.AddPercentiles(m, "delay")
	receiver.Variation.AddPercentiles(m, "delay_variation")
}

// sweep is udp_stream at each of a list of loads. The plan makes a workload of each rate, which
// then runs as udp_stream.
type sweep struct{ stream }

func (w sweep) Spec() traffic.Spec {
	s := w.stream.Spec()
	s.Title, s.Kind, s.MadeOf, s.StandsFor = "UDP sweep", "udp_sweep", s.Kind, "where loss and delay begin: the same stream at several rates"
	s.Params = []string{"rates", "flows", "payload_size", "burst", "offload", "fragment", "direction", "family",
		"send_buffer", "receive_buffer", "placement", "slice", "warmup", "duration"}
	s.Optional = []string{"wait", "scheduling"}
	s.Defaults.Rate = 0
	s.Defaults.Rates = quantity.Rates{250e6, 500e6, 1e9, 2e9, 4e9}
	s.Lengths = map[string]study.Length{
		study.Quick:    {Warmup: quantity.Duration(100 * time.Millisecond), Duration: quantity.Duration(500 * time.Millisecond), Slice: traffic.StreamSlice},
		study.Standard: {Warmup: quantity.Duration(300 * time.Millisecond), Duration: quantity.Duration(1200 * time.Millisecond), Slice: traffic.StreamSlice},
		study.Paper:    {Warmup: quantity.Duration(10 * time.Second), Duration: quantity.Duration(60 * time.Second)},
	}
	return s
}

// search looks for the highest rates whose loss stays within given goals. Each step is udp_stream
// at one packet rate with its own flows; the caller chooses the loads to try.
type search struct{ stream stream } // not embedded: it cannot run in slices

func (w search) Spec() traffic.Spec {
	const second = quantity.Duration(time.Second)
	return traffic.Spec{Title: "UDP rate search", StandsFor: "how much it can take: the highest rate without loss", MadeOf: "udp_stream", Datagrams: true, WorkloadSpec: study.WorkloadSpec{
		Kind:   "udp_search",
		Metric: traffic.ThroughputMetric(0, false),
		Params: []string{"loss_goals", "goal", "exceed_ratio", "step", "step_sum", "precision", "pause", "min_rate", "max_rate", "max_search",
			"flows", "payload_size", "burst", "offload", "fragment", "direction", "family", "send_buffer", "receive_buffer", "placement", "warmup"},
		Optional: []string{"wait", "scheduling"},
		Defaults: study.Workload{
			LossGoals: quantity.LossGoals{0, 0.01}, Goal: study.Median, ExceedRatio: quantity.PortionOf(0.5), Pause: quantity.WaitOf(300 * time.Millisecond),
			MinRate: 1e6, MaxRate: 10e9,
			Flows: 1, PayloadSize: 1400, Burst: 64, Offload: study.Off, Fragment: study.Off, Direction: study.Forward,
			Family: study.IPv4, SendBuffer: quantity.Buffer(4 << 20), ReceiveBuffer: quantity.Buffer(4 << 20), Placement: study.TwoCores,
		},
		Profiles: map[string]study.Workload{
			study.Quick:    {Step: second / 2, StepSum: second * 3 / 2, Precision: 0.02, MaxSearch: 25 * second, Times: 1},
			study.Standard: {Step: second, StepSum: 5 * second, Precision: 0.01, MaxSearch: 90 * second, Every: 2, Times: 3},
			study.Paper:    {Step: second, StepSum: 21 * second, Precision: 0.005, MaxSearch: 600 * second, Goal: study.Beside},
		},
		Goals: map[string]study.Workload{
			study.Strict: {ExceedRatio: quantity.PortionOf(0)},
			study.RFC2544: {ExceedRatio: quantity.PortionOf(0), LossGoals: quantity.LossGoals{0}, Step: 60 * second, StepSum: 60 * second,
				Precision: 0.01, MaxSearch: 3600 * second},
		},
		Lengths: map[string]study.Length{
			study.Quick:    {Warmup: quantity.Duration(50 * time.Millisecond)},
			study.Standard: {Warmup: quantity.Duration(50 * time.Millisecond)},
			study.Paper:    {Warmup: quantity.Duration(100 * time.Millisecond)},
		},
	}}
}

func (w search) Listen(p traffic.Params) (traffic.Server, error) { return w.stream.Listen(p) }

func (w search) Dial(ctx context.Context, p traffic.Params, peer traffic.Peer) (traffic.Report, error) {
	return w.stream.Dial(ctx, p, peer)
}

// Metrics returns the metrics of udp_stream, for one step or several.
func (w search) Metrics(p traffic.Params, client, server traffic.Report) (map[string]float64, *result.Series) {
	return w.stream.Metrics(p, client, server)
}
