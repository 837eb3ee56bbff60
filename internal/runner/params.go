package runner

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
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

// anyCPU is no place: the scheduler chooses.
const anyCPU = -1

// pairs resolves a trial's workload for the ends of each pair that it drives. Each
// has a token of its own.
func (r *run) pairs(s *stage, t plan.Trial, limit time.Duration) ([]*pair, error) {
	var all []*pair
	for i, ends := range s.path.Pairs {
		if i == pairsOf(t.Workload) {
			break
		}
		listen, dial, err := ends.Server.Reach(t.Workload.Family == study.IPv6)
		if err != nil {
			return nil, err
		}
		token := make([]byte, 16)
		if _, err := rand.Read(token); err != nil {
			return nil, fmt.Errorf("draw the trial's token: %w", err)
		}
		p := params(t)
		p.Token, p.Limit, p.Progress = hex.EncodeToString(token), limit, r.cfg.Progress
		client, server := p, p
		client.CPU, server.CPU = place(t.Workload.Placement, r.cfg.Ground.CPUs)
		if ends.Client.OwnCPUs {
			client.CPU = anyCPU
		}
		if ends.Server.OwnCPUs {
			server.CPU = anyCPU
		}
		client.SameCPU = client.CPU >= 0 && client.CPU == server.CPU
		server.SameCPU = client.SameCPU
		client.Address, server.Address = dial.String(), listen.String()
		all = append(all, &pair{clientSide: client, serverSide: server})
	}
	return all, nil
}

// pairsOf is how many pairs of endpoints a workload drives at once.
func pairsOf(w study.Workload) int { return max(1, w.Pairs) }

// socketBuffer is a buffer in the generator's words: -1 leaves it to the kernel.
func socketBuffer(b study.BufferSize) int {
	if b.Auto {
		return -1
	}
	return int(b.Bytes)
}

// params is what a study says of a workload, in the generator's words.
func params(t plan.Trial) traffic.Params {
	w := t.Workload
	p := traffic.Params{
		Kind: w.Kind, Streams: cmp.Or(w.Streams, w.Flows), Threads: w.Threads,
		Reverse: w.Direction == study.Reverse, Both: w.Direction == study.Both,
		WriteSize: int(w.WriteSize), PayloadSize: int(w.PayloadSize), RequestSize: int(w.RequestSize), ResponseSize: int(w.ResponseSize),
		Rate: uint64(w.Rate), PacketRate: uint64(w.PacketRate), TransactionRate: uint64(w.TransactionRate), Burst: w.Burst,
		Offload: w.Offload == study.On, Fragment: w.Fragment == study.On, Reset: w.Close == study.RST,
		NoDelay: w.NoDelay != nil && *w.NoDelay, Congestion: w.Congestion,
		SendBuffer: socketBuffer(w.SendBuffer), ReceiveBuffer: socketBuffer(w.ReceiveBuffer), Warmup: w.Warmup.Std(), Duration: w.Duration.Std(),
	}
	if w.Rate == study.Unlimited || p.PacketRate > 0 {
		p.Rate = 0
	}
	if plan.External(w) {
		p.Tool = w.Tool
	}
	if t.Sliced() {
		p.Slice, p.Rounds = w.Slice.Std(), t.Rounds()
	}
	return p
}
