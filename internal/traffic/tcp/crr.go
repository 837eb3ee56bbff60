package tcp

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// crr repeatedly connects, exchanges one request and response, and closes, as netperf's TCP_CRR
// does. A control connection with the trial's token, without payload, stays open and tells the
// server when the trial ends.
type crr struct{ path path }

// crrSlice is long enough for hundreds of connections.
const crrSlice = quantity.Duration(50 * time.Millisecond)

func (crr) Spec() traffic.Spec {
	return traffic.Spec{Title: "TCP connect/request/response", StandsFor: "a client without keep-alive: a connection for each request", WorkloadSpec: study.WorkloadSpec{
		Kind:   "tcp_crr",
		Metric: "connection_rate",
		Params: []string{"flows", "request_size", "response_size", "close", "family", "congestion_control", "send_buffer",
			"receive_buffer", "placement", "slice", "warmup", "duration"},
		ManyFlows: true,
		Optional:  []string{"pairs", "tool", "with_load"},
		Defaults: study.Workload{
			Flows: 1, RequestSize: 1, ResponseSize: 1, Close: study.FIN, Family: study.IPv4, Congestion: "cubic",
			SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(), Placement: study.OneCore,
		},
		Lengths: map[string]study.Length{
			study.Quick:    {Warmup: quantity.Duration(50 * time.Millisecond), Duration: quantity.Duration(280 * time.Millisecond), Slice: crrSlice},
			study.Standard: {Warmup: quantity.Duration(200 * time.Millisecond), Duration: quantity.Duration(time.Second), Slice: crrSlice},
			study.Paper:    {Warmup: quantity.Duration(time.Second), Duration: quantity.Duration(30 * time.Second)},
		},
	}}
}

// crrTag is sent on each connection before the request, so that a foreign connection is never
// counted. It is sent in the same write as the request and is not payload.
type crrTag [8]byte

// tagOf derives the tag from the trial's token. The token cannot be derived from the tag.
func tagOf(token string) crrTag {
	sum := sha256.Sum256([]byte("tcp_crr " + token))
	return crrTag(sum[:])
}

// crrTrial is what both endpoints know about a trial.
type crrTrial struct {
	traffic.Params
	tag crrTag
}

// requestBytes returns how many bytes a connection carries to the server.
func (t crrTrial) requestBytes() int { return len(t.tag) + int(t.RequestSize) }

func newCRRTrial(p traffic.Params) (crrTrial, error) {
	p, err := exchangeParams(p)
	p.NoDelay = new(true)
	return crrTrial{p, tagOf(p.Token)}, err
}

// options returns the socket options of the data connections.
func (t crrTrial) options() socket.TCPOptions {
	o := connection.Options(t.Params)
	o.Reset = t.Close == study.RST
	return o
}

// controlParams returns the parameters of the control connection for the handshake.
func (t crrTrial) controlParams() traffic.Params {
	p := t.Params
	p.Streams = 1
	return p
}

func (w crr) Listen(p traffic.Params) (traffic.Server, error) {
	t, err := newCRRTrial(p)
	if err != nil {
		return nil, err
	}
	a, err := w.path.net.ListenTCP(t.Address, t.options())
	if err != nil {
		return nil, err
	}
	return &crrServer{w.path, newAdmitter(a, t.controlParams()), t}, nil
}

func (w crr) Dial(ctx context.Context, p traffic.Params, _ traffic.Peer) (traffic.Report, error) {
	return traffic.DriveWhole(ctx, p, w.dial)
}

func (w crr) Open(ctx context.Context, p traffic.Params) (traffic.Session, error) {
	return traffic.DriveInSlices(ctx, p, w.dial)
}

func (w crr) dial(ctx context.Context, p traffic.Params) (traffic.ClientDriven, error) {
	t, err := newCRRTrial(p)
	if err != nil {
		return nil, err
	}
	addr, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	s := &crrSession{path: w.path, t: t, addr: addr, connect: traffic.NewDistribution(), first: traffic.NewDistribution(), restore: thread.PauseGC()}
	if s.control, _, err = connect(ctx, w.path, t.controlParams()); err != nil {
		s.restore()
		return nil, err
	}
	s.kernel = connection.ReadKernel()
	return s, nil
}

func (crr) Metrics(_ traffic.Params, client, _ traffic.Report) (map[string]float64, *result.Series) {
	w, m := client.Window, map[string]float64{}
	// A window without a free source port all the time has no rate.
	if w.Seconds > 0 {
		m["connection_rate"] = float64(w.Messages) / w.Seconds
	}
	if all := w.Failed + w.Messages; all > 0 {
		m["loss_ratio"] = float64(w.Failed) / float64(all)
	}
	w.Connect.AddPercentiles(m, "connect")
	w.FirstByte.AddPercentiles(m, "first_byte")
	return m, &result.Series{Metric: "connection_rate", Interval: w.Interval, Values: w.Series}
}

// crrServer is the listening endpoint.
type crrServer struct {
	path     path
	listener *admitter
	t        crrTrial
}

func (s *crrServer) Port() uint16 { return s.listener.Port() }

// Serve answers until the client closes the control connection. It does not distinguish slices.
func (s *crrServer) Serve(ctx context.Context, _ traffic.Peer) (traffic.Report, error) {
	defer thread.PauseGC()()
	defer s.listener.Close()
	c, err := s.listener.admit(ctx, s.t.controlParams())
	if err != nil {
		return traffic.Report{}, err
	}
	defer c.Close()
	start, kernel := clock.Now(), connection.ReadKernel()
	n, err := s.path.serveCRR(ctx, s.listener, c[0], s.t)
	if err != nil {
		return traffic.Report{}, connection.TooManyFiles(err, s.t.Params)
	}
	s.listener.CountQueued()
	r := traffic.Report{Traffic: start.Since().Seconds(), Messages: n.messages,
		End: result.End{CPU: s.t.Pinned(), Sent: n.messages * int64(s.t.ResponseSize), Received: n.messages * int64(s.t.RequestSize)}}
	c.FillReport(&r)
	r.Connections, r.Refused = int(n.connections), s.listener.Refused
	connection.Estimate(&r, n.connections, int(s.t.ResponseSize), s.t.requestBytes(), connection.ReadKernel().Retransmits-kernel.Retransmits)
	return r, nil
}
