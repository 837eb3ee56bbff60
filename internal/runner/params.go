package runner

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/plan"
	"tare/internal/study"
	"tare/internal/traffic"
)

// place chooses the CPUs of the two ends, -1 for the scheduler's choice. The last
// CPU comes first: on most machines the first ones serve interrupts.
func place(placement string, cpus []int) (client, server int) {
	n := len(cpus)
	switch {
	case n == 0 || placement == study.Free:
		return -1, -1
	case placement == study.TwoCores && n > 1:
		return cpus[n-2], cpus[n-1]
	default:
		return cpus[n-1], cpus[n-1]
	}
}

// withPort puts the port that the server opened into an address that left the
// choice to it.
func withPort(address string, port uint16) (string, error) {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return "", fmt.Errorf("dial %q: %w", address, err)
	}
	if a.Port() != 0 {
		return address, nil
	}
	return netip.AddrPortFrom(a.Addr(), port).String(), nil
}

// params resolves a trial's workload for the two ends of a path.
func (r *run) params(s *stage, t plan.Trial, limit time.Duration) (client, server traffic.Params, err error) {
	w := t.Workload
	_, target := s.path.Ends()
	listen, dial, err := target.Reach(w.Family == study.IPv6)
	if err != nil {
		return client, server, err
	}
	token := make([]byte, 16)
	if _, err := rand.Read(token); err != nil {
		return client, server, fmt.Errorf("draw the trial's token: %w", err)
	}
	p := traffic.Params{
		Kind: w.Kind, Token: hex.EncodeToString(token), Streams: w.Streams, WriteSize: int(w.WriteSize),
		NoDelay: w.NoDelay != nil && *w.NoDelay, Reverse: w.Direction == study.Reverse, Congestion: w.Congestion,
		SendBuffer: int(w.SendBuffer), ReceiveBuffer: int(w.ReceiveBuffer), Warmup: w.Warmup.Std(), Duration: w.Duration.Std(), Limit: limit,
	}
	if t.Sliced() {
		p.Slice, p.Rounds = w.Slice.Std(), t.Rounds()
	}
	client, server = p, p
	client.CPU, server.CPU = place(w.Placement, r.cfg.CPUs)
	client.SameCPU = client.CPU >= 0 && client.CPU == server.CPU
	server.SameCPU = client.SameCPU
	client.Address, server.Address = dial.String(), listen.String()
	return client, server, nil
}
