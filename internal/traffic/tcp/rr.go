package tcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/thread"
	"tare/internal/warning"
)

// rr exchanges requests and responses over one or more persistent connections, as netperf's TCP_RR
// does. In the closed loop a flow sends its next request as soon as the response arrives; in the
// open loop requests have a schedule. With a pipeline a flow has several requests in progress: see pipeline.go.
type rr struct{ path path }

func (rr) Spec() traffic.Spec {
	return traffic.Spec{Title: "TCP request/response", StandsFor: "a cache, a database or HTTP keep-alive: requests over open connections", WorkloadSpec: study.WorkloadSpec{
		Kind:   "tcp_rr",
		Metric: "transaction_rate",
		Params: []string{"flows", "request_size", "response_size", "family", "congestion_control", "send_buffer",
			"receive_buffer", "placement", "slice", "warmup", "duration"},
		ManyFlows: true,
		Optional:  []string{"transaction_rate", "wait", "scheduling", "pipeline", "pairs", "fan_in", "tool", "with_load", "event"},
		Defaults: study.Workload{
			Flows: 1, RequestSize: 1, ResponseSize: 1, Family: study.IPv4, Congestion: "cubic",
			SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(), Placement: study.OneCore,
		},
		Lengths: traffic.ExchangeLengths(),
	}}
}

func (w rr) Listen(p traffic.Params) (traffic.Server, error) {
	p.Streams *= p.OfServer() // the trial begins when all clients have connected
	p, err := rrParams(p)
	if err != nil {
		return nil, err
	}
	return w.listen(p, nil)
}

// listen opens the port of exchanges with that content.
func (w rr) listen(p traffic.Params, in content) (traffic.Server, error) {
	// Its slices share their connections, and the server cannot distinguish them.
	p.Rounds = 0
	s, err := listen(w.path, p, func(ctx context.Context, c connection.List, p traffic.Params) (traffic.Report, error) {
		return w.serve(ctx, c, p, in)
	})
	if err != nil {
		return nil, err
	}
	return rrServer{s, p}, nil
}

// rrServer is the listening endpoint.
type rrServer struct {
	traffic.Server
	p traffic.Params
}

func (s rrServer) Serve(ctx context.Context, peer traffic.Peer) (traffic.Report, error) {
	ctx, end := exchange.UntilReported(ctx, peer)
	defer end()
	r, err := s.Server.Serve(ctx, peer)
	return r, connection.TooManyFiles(err, s.p)
}

// serve runs the server's part after the handshake.
func (w rr) serve(ctx context.Context, c connection.List, p traffic.Params, in content) (traffic.Report, error) {
	defer c.Close()
	start := clock.Now()
	n, err := w.path.respond(ctx, c, p, in)
	if err != nil && !errors.Is(err, exchange.ErrClientEnded) {
		return traffic.Report{}, err
	}
	r := traffic.Report{Traffic: start.Since().Seconds(), Messages: n, Together: p.Pipeline,
		End: result.End{CPU: p.Pinned(), Sent: n * int64(p.ResponseSize), Received: n * int64(p.RequestSize)}}
	c.FillReport(&r)
	return r, nil
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
	return w.connect(ctx, p, nil)
}

// connect opens the connections of exchanges with that content.
func (w rr) connect(ctx context.Context, p traffic.Params, in content) (traffic.ClientDriven, error) {
	var err error
	s := &rrSession{path: w.path, p: p, content: in, hist: traffic.NewDistribution(), streams: make([]int64, p.Streams), broken: make([]bool, p.Streams), restore: thread.PauseGC()}
	if s.c, s.tried, err = connect(ctx, w.path, p); err != nil {
		s.restore()
		return nil, connection.TooManyFiles(err, p)
	}
	return s, nil
}

// rrParams checks the parameters of an endpoint and sets what is not a parameter.
func rrParams(p traffic.Params) (traffic.Params, error) {
	p.NoDelay = new(true)
	switch {
	case p.TransactionRate > exchange.MaxRate:
		return p, fmt.Errorf("%s: %d transactions/s: use at most %d", p.Kind, p.TransactionRate, int64(exchange.MaxRate))
	case p.Pipeline < 0 || p.Pipeline > study.MostPipeline:
		return p, fmt.Errorf("%s: a pipeline of %d requests: use 1 to %d", p.Kind, p.Pipeline, study.MostPipeline)
	case p.Pipeline > 1 && p.TransactionRate > 0:
		return p, fmt.Errorf("%s: a pipeline has no schedule", p.Kind)
	}
	return exchangeParams(p)
}

// exchangeParams checks the parameters that the request/response workloads share.
func exchangeParams(p traffic.Params) (traffic.Params, error) {
	if p.Streams < 1 {
		return p, fmt.Errorf("%s: %d flows: use at least 1", p.Kind, p.Streams)
	}
	if p.RequestSize < 0 || p.ResponseSize < 0 {
		return p, fmt.Errorf("%s: a request of %d and a response of %d bytes: use at least 1 each", p.Kind, p.RequestSize, p.ResponseSize)
	}
	p.RequestSize, p.ResponseSize = max(p.RequestSize, 1), max(p.ResponseSize, 1)
	return p, nil
}

func (rr) Metrics(_ traffic.Params, client, _ traffic.Report) (map[string]float64, *result.Series) {
	return exchange.Metrics(client)
}

// rrWindow is one window of a trial at the client, and what its messages hold.
type rrWindow struct {
	*exchange.Window
	unread  int64                           // requests over connections that failed before the response
	content content                         // nil for zeros
	fail    func(flow int, err error) error // see rrSession.fail
}

// rrSession is the client, which measures the time.
type rrSession struct {
	path    path
	c       connection.List
	p       traffic.Params
	content content // nil for zeros
	hist    *traffic.Distribution
	streams []int64          // exchanges counted, by flow
	broken  []bool           // whether its connection failed, by flow
	failed  connection.Tally // of the connections of flows
	tried   connection.Tries // connections
	total   int64            // exchanges, counted or not
	unread  int64            // requests over connections that failed before the response
	driven  time.Duration    // time with traffic
	planned time.Duration    // traffic time of the schedule so far
	window  traffic.Window
	restore func()
}

// brokenFlows is how many flows have no connection left.
func (s *rrSession) brokenFlows() (n int) {
	for _, broken := range s.broken {
		if broken {
			n++
		}
	}
	return n
}

// fail counts the connection of a flow that ended with err, after which the others go on. It returns err if that ends
// the trial: if it is of this host, or if no flow has a connection left.
func (s *rrSession) fail(flow int, err error) error {
	f, counted := connection.FailureOf(err)
	if !counted {
		return err
	}
	s.broken[flow] = true
	s.failed[f]++
	s.tried.Add(f)
	switch n := s.brokenFlows(); {
	case n < len(s.broken):
		return nil
	case n == 1:
		return err
	default:
		return fmt.Errorf("all %d connections failed (%s), the last one: %w", n, s.failed, err)
	}
}

// Drive runs exchanges for warmup + timed and counts those of the second part.
func (s *rrSession) Drive(ctx context.Context, warmup, timed time.Duration) error {
	p := s.p
	p.Warmup, p.Duration = warmup, timed
	w := &rrWindow{Window: exchange.NewWindow(p, s.planned, s.hist, s.streams), content: s.content, fail: s.fail}
	w.Broken = s.broken
	began := clock.Now()
	err := s.path.request(ctx, s.c, w)
	s.driven += began.Since()
	if err != nil {
		return traffic.WithAttempts(err, s.tried.Attempts)
	}
	s.planned += warmup + timed
	s.total += w.Bins.Total
	s.unread += w.unread
	return w.AddTo(&s.window)
}

func (s *rrSession) RTT() time.Duration { return s.c.LeastRTT() }

func (s *rrSession) Close() traffic.Report {
	defer s.restore()
	defer s.c.Close()
	r := traffic.Report{Traffic: s.driven.Seconds(), Messages: s.total, Together: s.p.Pipeline, Window: s.window,
		End: result.End{CPU: s.p.Pinned(), Sent: (s.total + s.unread) * int64(s.p.RequestSize), Received: s.total * int64(s.p.ResponseSize)}}
	s.c.FillReport(&r)
	r.Window.RTT = s.hist
	if s.content == nil {
		r.OwnTime = ownTime(s.p)
	}
	r.Window.Sent = s.window.Messages * int64(s.p.RequestSize)
	r.Window.Received = s.window.Messages * int64(s.p.ResponseSize)
	for _, n := range s.streams {
		r.Window.Streams = append(r.Window.Streams, n*int64(s.p.ResponseSize))
	}
	r.Attempts = &s.tried.Attempts
	if e := r.Window.Event; e != nil {
		e.Lost, e.Failed = new(int64(s.brokenFlows())), map[string]int64{}
		if n := e.Due - e.Answered; n > 0 { // of a connection that failed, and of one that waits too long
			e.Failed[exchange.NotSent] = n
		}
	}
	if n := s.brokenFlows(); n > 0 {
		r.Notes = append(r.Notes, warning.NewNote(warning.LostExchanges,
			"%d of %d connections failed, and carried no exchange from then on: %s. The rate is what the others added", n, s.p.Streams, s.failed))
	}
	r.Notes = append(r.Notes, exchange.MissedNotes(s.p, s.window, "round trips")...)
	return r
}

// ownTime is [traffic.OwnTime] of tcp_rr.
func ownTime(p traffic.Params) *float64 {
	p, ok := exchange.OwnParams(p)
	if !ok {
		return nil
	}
	w, flow := exchange.NewWindow(p, 0, traffic.NewDistribution(), make([]int64, p.Streams)), 0
	return traffic.OwnTime(clock.Now().Since, func(from, at time.Duration) {
		w.Done(flow, from, at)
		flow = (flow + 1) % p.Streams
	})
}
