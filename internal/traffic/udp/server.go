// Package udp implements the workloads over UDP: udp_stream, udp_rr, udp_dns, and udp_sweep and udp_search,
// which consist of udp_stream trials. Their inner loops run on locked threads, do not allocate, and
// count each datagram in preallocated memory.
package udp

import (
	"context"
	"fmt"
	"net/netip"

	"tare/internal/study"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// server is the listening endpoint of a workload over UDP.
type server struct {
	at    socket.UDPPort
	p     traffic.Params
	serve func(context.Context, *endpoint, traffic.Params, traffic.Peer) (traffic.Report, error)
}

func listen(n socket.UDP, p traffic.Params, serve func(context.Context, *endpoint, traffic.Params, traffic.Peer) (traffic.Report, error)) (traffic.Server, error) {
	at, err := n.ListenUDP(p.Address, optionsOf(p))
	if err != nil {
		return nil, err
	}
	return &server{at: at, p: p, serve: serve}, nil
}

func (s *server) Port() uint16 { return s.at.Port() }

func (s *server) Serve(ctx context.Context, peer traffic.Peer) (traffic.Report, error) {
	defer thread.PauseGC()()
	defer s.at.Close()
	e, err := acceptClient(ctx, s.at, s.p)
	if err != nil {
		return traffic.Report{}, err
	}
	defer e.wire.Close()
	return s.serve(ctx, e, s.p, peer)
}

// checkParams refuses parameters that no trial over UDP supports.
func checkParams(p traffic.Params, least int) (netip.AddrPort, error) {
	addr, err := netip.ParseAddrPort(p.Address)
	switch {
	case err != nil:
		return addr, fmt.Errorf("%s: %w", p.Kind, err)
	case p.Streams > maxFlows:
		return addr, fmt.Errorf("%s: %d flows; use at most %d", p.Kind, p.Streams, maxFlows)
	case int(p.PayloadSize) < least || p.PayloadSize > socket.MaxPayload:
		return addr, fmt.Errorf("%s: a payload of %d bytes; use %d to %d", p.Kind, p.PayloadSize, least, socket.MaxPayload)
	case p.Warmup < 0 || p.Duration < 0 || p.Warmup+p.Duration > maxSchedule:
		return addr, fmt.Errorf("%s: a warm-up of %s and a window of %s; use at most %s", p.Kind, p.Warmup, p.Duration, maxSchedule)
	case messageSize+len(p.Token) > maxMessage:
		return addr, fmt.Errorf("%s: a token of %d bytes; use at most %d", p.Kind, len(p.Token), maxMessage-messageSize)
	}
	return addr, nil
}

// maxFlows bounds the flows of a trial over UDP.
const maxFlows = 1000

// optionsOf returns the socket options of one endpoint.
func optionsOf(p traffic.Params) socket.UDPOptions {
	return socket.UDPOptions{Flows: p.Streams, Longest: longest(int(p.PayloadSize)), Offload: p.Offload == study.On, Fragment: p.Fragment == study.On,
		SendBuffer: p.SendBuffer.Socket(), ReceiveBuffer: p.ReceiveBuffer.Socket()}
}

// longest returns the size of the longest datagram of a trial with payloads of size bytes.
func longest(size int) int { return max(size, maxMessage) }

// All returns the workloads over UDP with the fastest implementation on this system.
func All() []traffic.Workload { return over(socket.FastestUDP()) }

// over returns the workloads over one network.
func over(n socket.UDP) []traffic.Workload {
	return []traffic.Workload{stream{n}, sweep{stream{n}}, search{stream: stream{n}}, rr{n}, dnsQueries{rr{n}}}
}
