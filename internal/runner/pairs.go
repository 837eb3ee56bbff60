package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic"
)

// pair is what one pair of endpoints does of a trial.
type pair struct {
	clientSide, serverSide traffic.Params
	trial                  *agent.Trial // while it is under way
	client, server         traffic.Report
}

// forEachPair does a part of a trial's trial for all its pairs side by side. If one fails,
// the others are told to give up, and the first error is the trial's.
func (tr *trialRun) forEachPair(ctx context.Context, do func(*pair) error) {
	tr.unlessFailed(func() error {
		var first error
		var once sync.Once
		var wg sync.WaitGroup
		for i, p := range tr.pairs {
			wg.Go(func() {
				err := do(p)
				if err == nil {
					return
				}
				once.Do(func() {
					first = tr.pairError(i, err)
					for _, other := range tr.pairs {
						if other != p && other.trial != nil {
							other.trial.Abort(ctx)
						}
					}
				})
			})
		}
		wg.Wait()
		return first
	})
}

// finish ends the trial of every pair by one of the ways to end it, and takes the
// reports.
func (tr *trialRun) finish(ctx context.Context, way func(*agent.Trial, context.Context) (client, server traffic.Report, err error)) {
	if tr.err != nil {
		return
	}
	tr.forEachPair(ctx, func(p *pair) (err error) {
		p.client, p.server, err = way(p.trial, ctx)
		return err
	})
	for _, p := range tr.pairs {
		p.trial = nil
		tr.unlessFailed(p.checkTool)
	}
}

// release gives up what is still under way of a trial that failed: a server would
// wait for its own time limit. An agent that has gone is the reason for it.
func (tr *trialRun) release(ctx context.Context) {
	for i, p := range tr.pairs {
		if p.trial == nil {
			continue
		}
		if gone := p.trial.Release(ctx); gone != nil {
			tr.err = tr.pairError(i, gone)
		}
		p.trial = nil
	}
}

// pairError says which pair an error is about, where there are several.
func (tr *trialRun) pairError(i int, err error) error {
	if len(tr.pairs) == 1 {
		return err
	}
	return fmt.Errorf("pair %d: %w", i+1, err)
}

// sum records what all pairs did together, and apart where there are several.
func (tr *trialRun) sum() {
	first := tr.pairs[0]
	tr.client, tr.server = first.client, first.server
	var outcomes []result.PairOutcome
	for _, p := range tr.pairs {
		metrics, _ := tr.work.Metrics(p.clientSide, p.client, p.server)
		outcomes = append(outcomes, result.PairOutcome{Client: end(p.client, p.server), Server: end(p.server, p.client), Metrics: finite(metrics)})
	}
	for _, p := range tr.pairs[1:] {
		tr.client, tr.server = traffic.Sum(tr.client, p.client), traffic.Sum(tr.server, p.server)
		tr.out.Pairs = outcomes
	}
	c, s := end(tr.client, tr.server), end(tr.server, tr.client)
	tr.out.Client, tr.out.Server = &c, &s
	tr.out.Traffic = max(tr.client.Traffic, tr.server.Traffic)
	if tr.Sliced() {
		tr.out.Traffic = tr.client.Traffic // the server's clock runs on in the turns of others
	}
	tr.out.GeneratorLimited = limited(tr.client, tr.server)
	tr.out.Notes = notes(tr.client, tr.server)
	tr.out.Tool = madeBy(tr.client, tr.server)
}

// finite leaves out what JSON has no word for. Of the sum, that fails the trial.
func finite(metrics map[string]float64) map[string]float64 {
	maps.DeleteFunc(metrics, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	return metrics
}

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
func (r *run) pairs(s *modeUnderTest, t plan.Trial, limit time.Duration) ([]*pair, error) {
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
