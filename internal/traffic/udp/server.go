// Package udp makes the traffic of the workloads over UDP: udp_stream, udp_rr, and
// udp_sweep and udp_search, which are made of udp_stream. Their hot loops run on locked
// threads, allocate nothing and account for each datagram in memory that was set aside
// before.
package udp

import (
	"context"
	"fmt"
	"net/netip"

	"tare/internal/traffic"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// server is the listening end of a workload over UDP.
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

// checkParams refuses what no trial over UDP can do.
func checkParams(p traffic.Params, least int) (netip.AddrPort, error) {
	addr, err := netip.ParseAddrPort(p.Address)
	switch {
	case err != nil:
		return addr, fmt.Errorf("%s: %w", p.Kind, err)
	case p.Streams > maxFlows:
		return addr, fmt.Errorf("%s: %d flows; use %d at most", p.Kind, p.Streams, maxFlows)
	case p.PayloadSize < least || p.PayloadSize > socket.MaxPayload:
		return addr, fmt.Errorf("%s: a payload of %d bytes; want %d to %d", p.Kind, p.PayloadSize, least, socket.MaxPayload)
	case p.Warmup < 0 || p.Duration < 0 || p.Warmup+p.Duration > maxSchedule:
		return addr, fmt.Errorf("%s: a warm-up of %s and a window of %s; want at most %s", p.Kind, p.Warmup, p.Duration, maxSchedule)
	case messageSize+len(p.Token) > maxMessage:
		return addr, fmt.Errorf("%s: a token of %d bytes; want at most %d", p.Kind, len(p.Token), maxMessage-messageSize)
	}
	return addr, nil
}

// maxFlows bounds the flows of a trial over UDP.
const maxFlows = 1000

// optionsOf are those of the sockets of one end.
func optionsOf(p traffic.Params) socket.UDPOptions {
	return socket.UDPOptions{Flows: p.Streams, Longest: longest(p.PayloadSize), Offload: p.Offload, Fragment: p.Fragment,
		SendBuffer: p.SendBuffer, ReceiveBuffer: p.ReceiveBuffer}
}

// longest is the longest datagram of a trial with payloads of size bytes.
func longest(size int) int { return max(size, maxMessage) }

// All are the workloads over UDP, by the fastest path of this system.
func All() []traffic.Workload { return over(socket.FastestUDP()) }

// Portable are those by the path that every system has.
func Portable() []traffic.Workload { return over(socket.Portable{}) }

// over are those over one network.
func over(n socket.UDP) []traffic.Workload {
	return []traffic.Workload{stream{n}, sweep{stream{n}}, search{stream: stream{n}}, rr{n}}
}
