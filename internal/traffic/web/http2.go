package web

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/http1"
	"tare/internal/traffic/http2"
	"tare/internal/traffic/secure"
)

// http2Requests sends requests of HTTP/2, several at once on each connection, or with grpc the same as unary calls of gRPC. The
// settings of both ends come first; each request and response shows that it belongs to the trial, as in http. The server answers
// until it has the client's report.
type http2Requests struct {
	path path
	grpc bool
}

// tagField is http1.TagField as HTTP/2 writes it.
var tagField = strings.ToLower(http1.TagField) //nolint:gochecknoglobals // immutable

func (w http2Requests) Spec() traffic.Spec {
	spec := httpRequests{}.Spec()
	spec.ManyFlows, spec.FewFlows = false, true
	spec.Params = append([]string{"streams", "tls"}, without(spec.Params, "keep_alive")...)
	spec.Optional = without(without(without(without(spec.Optional, "resumption"), "tls"), "response_mix"), "event")
	spec.Defaults.KeepAlive, spec.Defaults.TLS = "", study.Off
	spec.Kind, spec.Title, spec.StandsFor, spec.Defaults.Streams = "http2", "HTTP/2 requests", "a web service or an API behind a proxy that speaks HTTP/2: several requests at once on a connection", 10
	if w.grpc {
		spec.Kind, spec.Title, spec.StandsFor, spec.Defaults.Streams = "grpc", "calls of gRPC", "services that call each other with gRPC", 1
		spec.Defaults.RequestSize = 1 << 10
		spec.Params, spec.Optional = append(spec.Params, "request_size"), append(without(without(without(spec.Optional, "request_size"), "tool"), "verify_with"), "streaming", "messages")
	}
	return spec
}

// without returns keys without one of them.
func without(keys []string, key string) (others []string) {
	for _, k := range keys {
		if k != key {
			others = append(others, k)
		}
	}
	return others
}

// mostStreams is the maximum of requests at once on a connection.
const mostStreams = 1000

// trial returns what both endpoints know about a trial: each stream of a connection is one of the flows of http.
func (w http2Requests) trial(p traffic.Params) (httpTrial, error) {
	connections, streams := max(p.Flows, 1), p.Streams
	switch {
	case connections > study.MostTLSFlows:
		return httpTrial{}, fmt.Errorf("%s: %d flows: use at most %d", p.Kind, connections, study.MostTLSFlows)
	case streams < 1 || streams > mostStreams:
		return httpTrial{}, fmt.Errorf("%s: %d streams: use 1 to %d", p.Kind, streams, mostStreams)
	}
	p.KeepAlive = study.On
	t, err := newHTTPTrial(p)
	t.connections, t.grpc, t.streaming = connections, w.grpc, w.grpc && p.Streaming == study.Bidi
	if w.grpc && p.Streaming == study.ServerStreams {
		t.series = cmp.Or(p.Messages, study.StreamedMessages)
	}
	t.Streams = connections * streams
	return t, err
}

// callPath is the method that calls of gRPC name, streamPath that of calls that go on, and seriesPath that of calls that are answered with
// many messages.
const (
	callPath   = "/tare.Trial/Call"
	streamPath = "/tare.Trial/Stream"
	seriesPath = "/tare.Trial/Series"
)

// inParts reports whether a response has messages that are told one by one.
func (t *httpTrial) inParts() bool { return t.streaming || t.series > 0 }

// prefixSize is the length of what precedes a message of gRPC: that it is not compressed, and its length.
const prefixSize = 5

// framed returns how a body of that size is sent: in gRPC, behind its prefix.
func (t *httpTrial) framed(size quantity.Size) (prefix []byte, body int) {
	if !t.grpc {
		return nil, int(size)
	}
	return binary.BigEndian.AppendUint32([]byte{0}, uint32(size)), int(size) + prefixSize
}

// isFramed reports whether a body of gRPC that begins with start is a whole message.
func isFramed(start [prefixSize]byte, body int64) bool {
	return body >= prefixSize && start[0] == 0 && int64(binary.BigEndian.Uint32(start[1:])) == body-prefixSize
}

// request2 returns the request of the trial, to that address.
func (t *httpTrial) request2(to netip.AddrPort) *http2.Message {
	prefix, body := t.framed(t.RequestSize)
	scheme, method, path := "http", "GET", "/"
	if t.secured() {
		scheme = "https"
	}
	switch {
	case t.streaming:
		path = streamPath
	case t.series > 0:
		path = seriesPath
	case t.grpc:
		path = callPath
	}
	if body > 0 {
		method = "POST"
	}
	fields := []http2.Field{{Name: ":method", Value: method}, {Name: ":scheme", Value: scheme}, {Name: ":path", Value: path}, {Name: ":authority", Value: t.host(to)},
		{Name: "user-agent", Value: "tare"}, {Name: tagField, Value: t.ask}}
	switch {
	case t.grpc:
		fields = append(fields, http2.Field{Name: "content-type", Value: "application/grpc"}, http2.Field{Name: "te", Value: "trailers"})
	case body > 0:
		fields = append(fields, http2.Field{Name: "accept-encoding", Value: "identity"}, http2.Field{Name: "content-type", Value: "application/octet-stream"},
			http2.Field{Name: "content-length", Value: strconv.Itoa(body)})
	default:
		fields = append(fields, http2.Field{Name: "accept-encoding", Value: "identity"})
	}
	m := http2.NewMessage(fields, nil, prefix, body, nil)
	if t.streaming {
		m.GoesOn()
	}
	return m
}

// response2 returns the response of the trial, of that time.
func (t *httpTrial) response2(now time.Time) *http2.Message {
	prefix, body := t.framed(t.ResponseSize)
	if t.grpc {
		m := http2.NewMessage([]http2.Field{{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"}, {Name: tagField, Value: t.answer}},
			nil, prefix, body, []http2.Field{{Name: "grpc-status", Value: "0"}})
		if t.inParts() {
			m.GoesOn()
		}
		return m
	}
	return http2.NewMessage([]http2.Field{{Name: ":status", Value: "200"}, {Name: "server", Value: "tare"}, {Name: "cache-control", Value: "no-store"},
		{Name: "content-type", Value: "application/octet-stream"}, {Name: "content-length", Value: strconv.Itoa(body)}, {Name: tagField, Value: t.answer}},
		[]http2.Field{{Name: "date", Value: now.UTC().Format(http1.TimeFormat)}}, nil, body, nil)
}

// check2 returns what is wrong with the complete response on a stream.
func (t *httpTrial) check2(s *http2.Stream) error {
	h := s.Head
	if t.grpc {
		if err := checkCall(s); err != nil {
			return err
		}
	}
	_, size := t.framed(t.ResponseSize)
	tag, _ := h.Field(tagField)
	coding, _ := h.Field("content-encoding")
	if coding == "identity" {
		coding = ""
	}
	if h.Status != http1.StatusOK || tag != t.answer || coding != "" || s.Body != int64(size) && !t.inParts() {
		to, _ := h.Field("location")
		return t.wrong(h.Status, tag, to, coding, s.Body, t.ResponseSize)
	}
	if t.grpc && !t.inParts() && !isFramed(s.Start, s.Body) {
		return &answerError{httpOther, "the message of the response is compressed, or not as long as it says"}
	}
	return nil
}

// checkPart returns what is wrong with one of several messages of a call.
func (t *httpTrial) checkPart(s *http2.Stream) error {
	tag, _ := s.Head.Field(tagField)
	switch {
	case s.Head.Status != http1.StatusOK || tag != t.answer:
		to, _ := s.Head.Field("location")
		return t.wrong(s.Head.Status, tag, to, "", s.Body, t.ResponseSize)
	case s.Part != int64(t.ResponseSize):
		return &answerError{httpOther, fmt.Sprintf("the message of the response has %d bytes, not %d", s.Part, t.ResponseSize)}
	}
	return nil
}

// checkCall returns the error of gRPC that a call is answered with. Other statuses of HTTP than 200 are errors of their own.
func checkCall(s *http2.Stream) error {
	of := s.Head
	status, known := of.Field("grpc-status") // without a message, the head is the trailer
	if !known {
		of = s.Trailer
		status, known = of.Field("grpc-status")
	}
	kind, _ := s.Head.Field("content-type")
	switch {
	case s.Head.Status != http1.StatusOK, known && status == "0":
		return nil
	case known:
		text, _ := of.Field("grpc-message")
		return &answerError{httpCallFailed, fmt.Sprintf("the answer is the status %.20q of gRPC: %.100q", status, text)}
	case !strings.HasPrefix(kind, "application/grpc"):
		return &answerError{httpOther, fmt.Sprintf("the answer is not of gRPC: its content type is %.100q", kind)}
	}
	return &answerError{httpOther, "the answer has no status of gRPC"}
}

func (w http2Requests) Listen(p traffic.Params) (traffic.Server, error) {
	p.Flows = max(p.Flows, 1) * p.OfServer()
	t, err := w.trial(p)
	if err != nil {
		return nil, err
	}
	if t.secured() {
		if t.server, err = secure.NewServer(secure.HTTP2, p.Token, false); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Kind, err)
		}
	}
	l, err := w.path.net.ListenTCP(t.Address, connection.Options(t.Params))
	if err != nil {
		return nil, err
	}
	return &httpServer{serve: serveHTTP2, Listener: l, t: t}, nil
}

func (w http2Requests) Dial(ctx context.Context, p traffic.Params, _ traffic.Peer) (traffic.Report, error) {
	return traffic.DriveWhole(ctx, p, w.dial)
}

func (w http2Requests) Open(ctx context.Context, p traffic.Params) (traffic.Session, error) {
	return traffic.DriveInSlices(ctx, p, w.dial)
}

func (w http2Requests) dial(_ context.Context, p traffic.Params) (traffic.ClientDriven, error) {
	t, err := w.trial(p)
	if err != nil {
		return nil, err
	}
	addr, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if t.secured() {
		t.client = secure.NewClient(secure.HTTP2, p.Token, false)
	}
	return newHTTP2Session(w.path.net, t, addr), nil
}

func (w http2Requests) Metrics(p traffic.Params, client, server traffic.Report) (map[string]float64, *result.Series) {
	return httpRequests{}.Metrics(p, client, server)
}
