package web

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/http1"
	"tare/internal/traffic/secure"
	"tare/internal/traffic/thread"
)

// httpRequests sends HTTP/1.1 requests, over connections that stay open or each over one of its own. Nothing
// precedes the first request of a connection, so a proxy that understands HTTP may stand between the
// endpoints: each request shows that it belongs to the trial, and each response that it comes from its server.
// The server answers until it has the client's report.
type httpRequests struct{ path path }

func (httpRequests) Spec() traffic.Spec {
	return traffic.Spec{Title: "HTTP/1.1 requests", StandsFor: "a web service or an API: GET or POST, with keep-alive or a connection for each request", WorkloadSpec: study.WorkloadSpec{
		Kind:   "http",
		Metric: "transaction_rate",
		Params: []string{"flows", "response_size", "keep_alive", "family", "congestion_control", "send_buffer",
			"receive_buffer", "placement", "slice", "warmup", "duration"},
		ManyFlows: true,
		Optional:  []string{"request_size", "transaction_rate", "wait", "scheduling", "tls", "resumption", "response_mix", "pairs", "fan_in", "tool", "verify_with", "with_load", "event"},
		Defaults: study.Workload{
			Flows: 1, ResponseSize: 1 << 10, KeepAlive: study.On, Family: study.IPv4, Congestion: "cubic",
			SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(), Placement: study.OneCore,
		},
		Lengths: traffic.ExchangeLengths(),
	}}
}

// httpTrial is what both endpoints know about a trial.
type httpTrial struct {
	traffic.Params
	reuse bool // of connections
	// connections is how many of HTTP/2 share the flows, each of which is then a stream; 0 for one for each flow.
	connections int
	grpc        bool // the requests are calls of gRPC
	streaming   bool // or messages within calls that go on
	series      int  // or each call is answered with so many messages; 0 for one
	mix         mix
	// ask and answer are the tags of its requests and responses.
	ask, answer string
	// server and client are the ends of its connections in TLS, each nil without TLS and at the other end.
	server *secure.Server
	client *secure.Client
}

func newHTTPTrial(p traffic.Params) (httpTrial, error) {
	p.NoDelay = new(true)
	t := httpTrial{Params: p, reuse: p.KeepAlive != study.Off, ask: http1.RequestTag(p.Token), answer: http1.ResponseTag(p.Token)}
	switch {
	case p.Streams < 1:
		return t, fmt.Errorf("%s: %d flows: use at least 1", p.Kind, p.Streams)
	case p.RequestSize < 0 || p.ResponseSize < 0:
		return t, fmt.Errorf("%s: a request of %d and a response of %d bytes: use at least 0 each", p.Kind, p.RequestSize, p.ResponseSize)
	case p.TLS == study.On && p.Streams > study.MostTLSFlows:
		return t, fmt.Errorf("%s: %d flows in TLS: use at most %d", p.Kind, p.Streams, study.MostTLSFlows)
	case p.TransactionRate > exchange.MaxRate:
		return t, fmt.Errorf("%s: %d transactions/s: use at most %d", p.Kind, p.TransactionRate, int64(exchange.MaxRate))
	}
	t.mix = mix{sizes: []quantity.Size{p.ResponseSize}}
	if p.ResponseMix != "" {
		all, err := quantity.ParseMix(p.ResponseMix)
		if err != nil {
			return t, fmt.Errorf("%s: %w", p.Kind, err)
		}
		t.mix = newMix(all)
	}
	return t, nil
}

// host returns what a request to that address names as its host.
func (t *httpTrial) host(to netip.AddrPort) string { return cmp.Or(t.Host, to.String()) }

// request returns the request of the trial for a size, to that address.
func (t httpTrial) request(to netip.AddrPort, size int) outgoing {
	q := http1.Request{Method: "GET", Target: t.mix.target(size), Host: t.host(to), Body: int64(t.RequestSize), Fields: []http1.Field{
		{Name: "User-Agent", Value: "tare"}, {Name: "Accept-Encoding", Value: "identity"}, {Name: http1.TagField, Value: t.ask},
	}}
	if t.RequestSize > 0 {
		q.Method = "POST"
		q.Fields = append(q.Fields, http1.Field{Name: "Content-Type", Value: "application/octet-stream"})
	}
	if !t.reuse {
		q.Fields = append(q.Fields, http1.Field{Name: "Connection", Value: "close"})
	}
	return newOutgoing(q.Append(nil), int(t.RequestSize))
}

// response returns the response of the trial of a size, of that time.
func (t httpTrial) response(now time.Time, closes bool, size int) outgoing {
	body := t.mix.sizes[size]
	s := http1.Response{Status: http1.StatusOK, Body: int64(body), Close: closes, Fields: []http1.Field{
		{Name: "Date", Value: now.UTC().Format(http1.TimeFormat)}, {Name: "Server", Value: "tare"}, {Name: "Cache-Control", Value: "no-store"},
		{Name: "Content-Type", Value: "application/octet-stream"}, {Name: http1.TagField, Value: t.answer},
	}}
	return newOutgoing(s.Append(nil), int(body))
}

// outgoing is a message to send: a head, and a body of zeros of which a part is kept.
type outgoing struct {
	start  []byte // the head with the start of the body
	filler []byte // for the rest of the body
	size   int    // of head and body
}

// httpBuffer is how much of a message one system call transfers.
const httpBuffer = 64 << 10

// startSize is how much of a body is kept with its head.
const startSize = 16 << 10

var filler [httpBuffer]byte //nolint:gochecknoglobals // only read

func newOutgoing(head []byte, body int) outgoing {
	m := outgoing{size: len(head) + body}
	m.start = append(head, make([]byte, min(body, startSize))...)
	m.filler = filler[:]
	return m
}

// after returns what to send next when that many bytes have been sent.
func (m *outgoing) after(sent int) []byte {
	if sent < len(m.start) {
		return m.start[sent:]
	}
	return m.filler[:min(m.size-sent, len(m.filler))]
}

func (w httpRequests) Listen(p traffic.Params) (traffic.Server, error) {
	p.Streams *= p.OfServer()
	t, err := newHTTPTrial(p)
	if err != nil {
		return nil, err
	}
	if t.secured() {
		if t.server, err = secure.NewServer(secure.HTTP1, p.Token, p.Resumption == study.On); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Kind, err)
		}
	}
	l, err := w.path.net.ListenTCP(t.Address, connection.Options(t.Params))
	if err != nil {
		return nil, err
	}
	return &httpServer{serve: w.of(t).serve, Listener: l, t: t}, nil
}

// of returns the path of a trial: TLS has the loops of goroutines, over the same sockets.
func (w httpRequests) of(t httpTrial) path {
	if t.secured() {
		return portablePath(w.path.name, w.path.net)
	}
	return w.path
}

// secured reports whether the connections are in TLS.
func (t *httpTrial) secured() bool { return t.TLS == study.On }

// of2 reports whether the trial is of HTTP/2.
func (t *httpTrial) of2() bool { return t.connections > 0 }

// together is how many messages may share a packet: those that are in progress at once on a connection of HTTP/2. It is 0 for one.
func (t *httpTrial) together() int {
	if !t.of2() {
		return 0
	}
	return t.Streams / t.connections
}

// leastHead is at most the bytes of any head: a start line and the end of the head, or a frame of HTTP/2 with one field.
const leastHead = 10

// contentOf returns the least bytes of messages with bodies of a size, whatever their heads and in either version of HTTP.
func contentOf(messages int64, size quantity.Size) int64 { return messages * (int64(size) + leastHead) }

// prepare sets the Go scheduler for a trial. In TLS and HTTP/2, each connection has its threads, and allocates.
func (t *httpTrial) prepare() (restore func()) {
	threads := t.Streams + 1
	switch {
	case t.of2():
		threads = http2Threads*t.connections + 1
	case !t.secured():
		return thread.PauseGC()
	}
	gc, processors := thread.RareGC(), thread.AddProcessors(threads)
	return func() {
		processors()
		gc()
	}
}

func (w httpRequests) Dial(ctx context.Context, p traffic.Params, _ traffic.Peer) (traffic.Report, error) {
	return traffic.DriveWhole(ctx, p, w.dial)
}

func (w httpRequests) Open(ctx context.Context, p traffic.Params) (traffic.Session, error) {
	return traffic.DriveInSlices(ctx, p, w.dial)
}

func (w httpRequests) dial(_ context.Context, p traffic.Params) (traffic.ClientDriven, error) {
	t, err := newHTTPTrial(p)
	if err != nil {
		return nil, err
	}
	addr, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if t.secured() {
		t.client = secure.NewClient(secure.HTTP1, p.Token, p.Resumption == study.On)
	}
	n := w.of(t)
	s := newHTTPSession(t, addr)
	s.request = n.request
	for size := range t.mix.sizes {
		s.asks = append(s.asks, t.request(addr, size))
	}
	for i := range s.flows {
		s.flows[i].reader = http1.NewResponseReader(int64(t.mix.largest()) + maxStrangeBody)
	}
	return s, nil
}

func (httpRequests) Metrics(_ traffic.Params, client, _ traffic.Report) (map[string]float64, *result.Series) {
	m, series := exchange.Metrics(client)
	w := client.Window
	if all := w.Failed + w.Messages; all > 0 && w.Event == nil {
		m["loss_ratio"] = float64(w.Failed) / float64(all)
	}
	w.FirstByte.AddPercentiles(m, "first_byte")
	w.Connect.AddPercentiles(m, "connect")
	return m, series
}
