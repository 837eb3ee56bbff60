package runner

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic"
)

// pair is the part of a trial that one pair of endpoints runs.
type pair struct {
	clientSide, serverSide traffic.Params
	trial                  *agent.Trial // while it runs
	client, server         traffic.Report
	held                   *traffic.Held // by the path, after the last transfer of a trial in slices
	slow                   int           // such transfers in a row whose path held more than a slice carries
}

// all are the pairs of the trial, that of its load last.
func (tr *trialRun) all() []*pair {
	if tr.load == nil {
		return tr.pairs
	}
	return append(slices.Clip(tr.pairs), tr.load)
}

// forEachPair runs a part of the trial for all its pairs in parallel. If one pair fails,
// the others are cancelled, and the first error is the trial's.
func (tr *trialRun) forEachPair(ctx context.Context, do func(*pair) error) {
	tr.unlessFailed(func() error {
		var first error
		var once sync.Once
		var wg sync.WaitGroup
		for i, p := range tr.all() {
			wg.Go(func() {
				err := do(p)
				if err == nil {
					return
				}
				once.Do(func() {
					first = tr.pairError(i, err)
					for _, other := range tr.all() {
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

// finish ends the trial of every pair with one of the methods that end it, and takes the
// reports.
func (tr *trialRun) finish(ctx context.Context, way func(*agent.Trial, context.Context) (client, server traffic.Report, err error)) {
	if tr.err != nil {
		return
	}
	tr.forEachPair(ctx, func(p *pair) (err error) {
		p.client, p.server, err = way(p.trial, ctx)
		return err
	})
	for _, p := range tr.all() {
		p.trial = nil
		if !tr.tested.path.RewritesHeads { // each byte of a message arrives as it was sent
			p.client.Content, p.server.Content = 0, 0
		}
		tr.unlessFailed(p.checkTool)
	}
}

// release cancels what still runs of a failed trial; otherwise a server would wait until
// its own time limit. If an agent has exited, that is the reason of the failure.
func (tr *trialRun) release(ctx context.Context) {
	for i, p := range tr.all() {
		if p.trial == nil {
			continue
		}
		if gone := p.trial.Release(ctx); gone != nil {
			tr.err = traffic.PlusAttempts(tr.pairError(i, gone), traffic.AttemptsOf(tr.err))
		}
		p.trial = nil
	}
}

// pairError adds to an error which pair it is about, if there are several.
func (tr *trialRun) pairError(i int, err error) error {
	if i == len(tr.pairs) {
		return fmt.Errorf("the %s beside it: %w", tr.load.clientSide.Kind, err)
	}
	switch {
	case len(tr.pairs) == 1:
		return err
	case tr.fansIn(): // the error may be that of another client
		return err
	}
	return fmt.Errorf("pair %d: %w", i+1, err)
}

// addPairs records the totals of all pairs, and the values of each pair if there are
// several.
func (tr *trialRun) addPairs() {
	first := tr.pairs[0]
	tr.client, tr.server = first.client, first.server
	var outcomes []result.PairOutcome
	for _, p := range tr.pairs {
		metrics, _ := tr.work.Metrics(p.clientSide, p.client, p.server)
		one := result.PairOutcome{Client: end(p.client, p.server), Metrics: finite(metrics)}
		if !tr.fansIn() {
			one.Server = new(end(p.server, p.client))
		}
		outcomes = append(outcomes, one)
	}
	for _, p := range tr.pairs[1:] {
		tr.client = traffic.Sum(tr.client, p.client)
		if !tr.fansIn() {
			tr.server = traffic.Sum(tr.server, p.server)
		}
		tr.out.Pairs = outcomes
	}
	if tr.fansIn() {
		tr.client.Window.Seconds = meanWindow(tr.pairs)
	}
	c, s := end(tr.client, tr.server), end(tr.server, tr.client)
	tr.out.Client, tr.out.Server = &c, &s
	tr.out.Traffic = max(tr.client.Traffic, tr.server.Traffic)
	if tr.Sliced() {
		tr.out.Traffic = tr.client.Traffic // the server's clock continues during the slices of other modes
	}
	tr.out.GeneratorLimited = limited(tr.client, tr.server)
	tr.out.Notes = append(notes(tr.client, tr.server), tr.foreignTraffic()...)
	tr.out.Tool = toolOf(tr.client, tr.server)
	if a := tr.client.Attempts; a != nil && a.Valid() { // an endpoint is foreign
		tr.out.Attempts = a
	}
}

// finite leaves out values that JSON cannot represent. If the total is such a value, the
// trial fails.
func finite(metrics map[string]float64) map[string]float64 {
	maps.DeleteFunc(metrics, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	return metrics
}

// place chooses the CPUs of client and server, -1 to leave the choice to the scheduler.
// The last CPU comes first, because on most machines the first ones serve interrupts.
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

// placeOn chooses the CPUs for a pair. On several machines each endpoint has a CPU of its own.
func placeOn(g driver.HostInfo, placement string, ends driver.Pair) (client, server int) {
	if g.Apart() && ends.Client.Host != ends.Server.Host {
		client, _ = place(placement, g.HostCPUs[ends.Client.Host])
		_, server = place(placement, g.HostCPUs[ends.Server.Host])
		return client, server
	}
	cpus := g.CPUs
	if g.Apart() {
		cpus = g.HostCPUs[ends.Client.Host]
	}
	return place(placement, cpus)
}

// anyCPU means no pinning: the scheduler chooses the CPU.
const anyCPU = -1

// pairs resolves a trial's workload for both endpoints of each pair. Each pair has its
// own token, but for the clients of one server.
func (r *measurement) pairs(s *modeUnderTest, t plan.Trial, limit time.Duration) ([]*pair, error) {
	var all []*pair
	for i, ends := range s.path.Pairs {
		if i == t.Workload.Clients() {
			break
		}
		if t.Workload.FanIn > 1 {
			ends.Server = s.path.Pairs[0].Server
		}
		client, server := placeOn(r.cfg.Machines, t.Workload.Placement, ends)
		p, err := r.pair(params(t), ends, limit, client, server)
		if err != nil {
			return nil, err
		}
		if t.Workload.FanIn > 1 && i > 0 {
			p.clientSide.Token, p.serverSide = all[0].clientSide.Token, all[0].serverSide
		}
		all = append(all, p)
	}
	return all, nil
}

// pair resolves a workload for both endpoints of a pair, on these CPUs where they may choose them.
func (r *measurement) pair(p traffic.Params, ends driver.Pair, limit time.Duration, clientCPU, serverCPU int) (*pair, error) {
	listen, dial, err := ends.Server.Reach(p.Family == study.IPv6)
	if err != nil {
		return nil, err
	}
	token := make([]byte, 16)
	if _, err := rand.Read(token); err != nil {
		return nil, fmt.Errorf("generate the trial's token: %w", err)
	}
	p.Token, p.Limit, p.Progress = hex.EncodeToString(token), limit, r.cfg.Progress
	client, server := p, p
	client.CPU, server.CPU = clientCPU, serverCPU
	if ends.Client.OwnCPUs {
		client.CPU = anyCPU
	}
	if ends.Server.OwnCPUs {
		server.CPU = anyCPU
	}
	client.Address, server.Address = dial.String(), listen.String()
	client.Host, server.Host = ends.Server.HostFor(p.Kind), ends.Server.HostFor(p.Kind)
	return &pair{clientSide: client, serverSide: server}, nil
}

// params are the generator's parameters of a trial.
func params(t plan.Trial) traffic.Params {
	p := traffic.ParamsOf(t.Workload)
	if t.Sliced() {
		p.Slice, p.Rounds = t.Workload.Slice.Std(), t.Rounds()
	}
	return p
}
