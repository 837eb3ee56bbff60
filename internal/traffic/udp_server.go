package traffic

import (
	"context"
	"fmt"
	"net/netip"
)

// udpServer is the listening end of a workload over UDP.
type udpServer struct {
	at    udpPort
	p     Params
	serve func(context.Context, *udpEnd, Params, Peer) (Report, error)
}

func listenUDP(n udpNetwork, p Params, serve func(context.Context, *udpEnd, Params, Peer) (Report, error)) (Server, error) {
	at, err := n.listenUDP(p.Address, udpOptionsOf(p))
	if err != nil {
		return nil, err
	}
	return &udpServer{at: at, p: p, serve: serve}, nil
}

func (s *udpServer) Port() uint16 { return s.at.port() }

func (s *udpServer) Serve(ctx context.Context, peer Peer) (Report, error) {
	defer quiet()()
	defer s.at.close()
	e, err := admitUDP(ctx, s.at, s.p)
	if err != nil {
		return Report{}, err
	}
	defer e.wire.close()
	return s.serve(ctx, e, s.p, peer)
}

// checkUDP refuses what no trial over UDP can do.
func checkUDP(p Params, least int) (netip.AddrPort, error) {
	addr, err := netip.ParseAddrPort(p.Address)
	switch {
	case err != nil:
		return addr, fmt.Errorf("%s: %w", p.Kind, err)
	case p.Streams > maxFlows:
		return addr, fmt.Errorf("%s: %d flows; use %d at most", p.Kind, p.Streams, maxFlows)
	case p.PayloadSize < least || p.PayloadSize > maxPayload:
		return addr, fmt.Errorf("%s: a payload of %d bytes; want %d to %d", p.Kind, p.PayloadSize, least, maxPayload)
	case p.Warmup < 0 || p.Duration < 0 || p.Warmup+p.Duration > maxSchedule:
		return addr, fmt.Errorf("%s: a warm-up of %s and a window of %s; want at most %s", p.Kind, p.Warmup, p.Duration, maxSchedule)
	case messageSize+len(p.Token) > maxMessage:
		return addr, fmt.Errorf("%s: a token of %d bytes; want at most %d", p.Kind, len(p.Token), maxMessage-messageSize)
	}
	return addr, nil
}

// maxFlows bounds the flows of a trial over UDP.
const maxFlows = 1000

// udpOptionsOf are those of the sockets of one end.
func udpOptionsOf(p Params) udpOptions {
	return udpOptions{Flows: p.Streams, Longest: longest(p.PayloadSize), Offload: p.Offload, Fragment: p.Fragment,
		SendBuffer: p.SendBuffer, ReceiveBuffer: p.ReceiveBuffer}
}

// longest is the longest datagram of a trial with payloads of size bytes.
func longest(size int) int { return max(size, maxMessage) }

// udpAll are the workloads over UDP, by the fastest path of this system.
func udpAll() []Workload { return udpWorkloads(fastest()) }

// udpPortable are those by the path that every system has.
func udpPortable() []Workload { return udpWorkloads(portable{}) }

// udpWorkloads are those over one network.
func udpWorkloads(n udpNetwork) []Workload {
	return []Workload{udpStream{n}, udpSweep{udpStream{n}}, udpSearch{stream: udpStream{n}}, udpRR{n}}
}
