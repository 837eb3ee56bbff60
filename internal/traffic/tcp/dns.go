package tcp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/dns"
)

// content is what the messages of exchanges hold, which are zeros without one. Each message fits
// into one buffer. Different flows may call it at the same time.
type content interface {
	// request writes the next request of a flow.
	request(flow int, b []byte)
	// response checks the response to it.
	response(flow int, b []byte) error
	// answer writes the response to a request. An error is that it is none.
	answer(request, response []byte) error
}

// dnsQueries is tcp_dns: the exchanges of tcp_rr, with queries to a resolver at the server's
// endpoint and its answers. Each has its length before it (RFC 1035, 4.2.2).
type dnsQueries struct{ rr }

func (w dnsQueries) Spec() traffic.Spec {
	s := w.rr.Spec()
	s.Title, s.Kind, s.StandsFor = "DNS queries over TCP", "tcp_dns", "names, over connections: large answers, DNS over TLS without its encryption"
	s.Params = []string{"flows", "family", "congestion_control", "send_buffer", "receive_buffer", "placement", "slice", "warmup", "duration"}
	s.Optional = []string{"transaction_rate", "wait", "scheduling", "pairs"}
	s.Defaults.RequestSize, s.Defaults.ResponseSize = 0, 0
	s.Defaults.Family = study.IPv4
	return s
}

// dnsParams sets what is not a parameter of tcp_dns, and returns the queries of the trial.
func dnsParams(p traffic.Params) (traffic.Params, *queries, error) {
	to, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return p, nil, fmt.Errorf("%s: %w", p.Kind, err)
	}
	zone, err := dns.NewZone(p.Token, to.Addr().Is6())
	if err != nil {
		return p, nil, fmt.Errorf("%s: %w", p.Kind, err)
	}
	p.RequestSize, p.ResponseSize = quantity.Size(lengthSize+zone.QuerySize()), quantity.Size(lengthSize+zone.AnswerSize())
	if p, err = rrParams(p); err != nil {
		return p, nil, err
	}
	return p, &queries{zone: zone, flows: make([]asked, p.Streams)}, nil
}

func (w dnsQueries) Listen(p traffic.Params) (traffic.Server, error) {
	p, in, err := dnsParams(p)
	if err != nil {
		return nil, err
	}
	return w.listen(p, in)
}

func (w dnsQueries) Dial(ctx context.Context, p traffic.Params, _ traffic.Peer) (traffic.Report, error) {
	return traffic.DriveWhole(ctx, p, w.dial)
}

func (w dnsQueries) Open(ctx context.Context, p traffic.Params) (traffic.Session, error) {
	return traffic.DriveInSlices(ctx, p, w.dial)
}

func (w dnsQueries) dial(ctx context.Context, p traffic.Params) (traffic.ClientDriven, error) {
	p, in, err := dnsParams(p)
	if err != nil {
		return nil, err
	}
	return w.connect(ctx, p, in)
}

// lengthSize is the size of the length before each message.
const lengthSize = 2

// queries is the content of tcp_dns. Each flow asks for every n-th name, of n flows.
type queries struct {
	zone  *dns.Zone
	flows []asked
}

// asked is the last query of a flow.
type asked struct {
	n  uint64 // how many there were
	id uint16
}

// name is the number of the name that a flow asked for last.
func (q *queries) name(flow int) uint64 {
	return q.flows[flow].n*uint64(len(q.flows)) + uint64(flow)
}

func (q *queries) request(flow int, b []byte) {
	f := &q.flows[flow]
	f.n++
	f.id++
	binary.BigEndian.PutUint16(b, uint16(len(b)-lengthSize))
	q.zone.Query(b[lengthSize:], q.name(flow), f.id)
}

func (q *queries) response(flow int, b []byte) error {
	if !complete(b) || q.zone.Check(b[lengthSize:], q.name(flow), q.flows[flow].id) != dns.Right {
		return errors.New("it is not the answer to the query: another program may answer on this port")
	}
	return nil
}

func (q *queries) answer(request, response []byte) error {
	if !complete(request) || !q.zone.Answer(request[lengthSize:], response[lengthSize:]) {
		return errors.New("it is not a query of this trial")
	}
	binary.BigEndian.PutUint16(response, uint16(len(response)-lengthSize))
	return nil
}

// complete reports whether a message has the length that it says.
func complete(b []byte) bool { return int(binary.BigEndian.Uint16(b)) == len(b)-lengthSize }
