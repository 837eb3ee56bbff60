package runner

import (
	"context"
	"fmt"
	"maps"
	"math"
	"sync"

	"tare/internal/agent"
	"tare/internal/result"
	"tare/internal/traffic"
)

// pair is what one pair of endpoints does of a trial.
type pair struct {
	clientSide, serverSide traffic.Params
	trial                  *agent.Trial // while it is under way
	client, server         traffic.Report
}

// side does a part of a lane's trial for all its pairs side by side. If one fails,
// the others are told to give up, and the first error is the trial's.
func (l *lane) side(ctx context.Context, do func(*pair) error) {
	l.step(func() error {
		var first error
		var once sync.Once
		var wg sync.WaitGroup
		for i, p := range l.pairs {
			wg.Go(func() {
				err := do(p)
				if err == nil {
					return
				}
				once.Do(func() {
					first = l.of(i, err)
					for _, other := range l.pairs {
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
func (l *lane) finish(ctx context.Context, way func(*agent.Trial, context.Context) (client, server traffic.Report, err error)) {
	if l.err != nil {
		return
	}
	l.side(ctx, func(p *pair) (err error) {
		p.client, p.server, err = way(p.trial, ctx)
		return err
	})
	for _, p := range l.pairs {
		p.trial = nil
		l.step(p.fit)
	}
}

// release gives up what is still under way of a trial that failed: a server would
// wait for its own time limit. An agent that has gone is the reason for it.
func (l *lane) release(ctx context.Context) {
	for i, p := range l.pairs {
		if p.trial == nil {
			continue
		}
		if gone := p.trial.Release(ctx); gone != nil {
			l.err = l.of(i, gone)
		}
		p.trial = nil
	}
}

// of says which pair an error is about, where there are several.
func (l *lane) of(i int, err error) error {
	if len(l.pairs) == 1 {
		return err
	}
	return fmt.Errorf("pair %d: %w", i+1, err)
}

// sum records what all pairs did together, and apart where there are several.
func (l *lane) sum() {
	first := l.pairs[0]
	l.client, l.server = first.client, first.server
	var outcomes []result.PairOutcome
	for _, p := range l.pairs {
		metrics, _ := l.work.Metrics(p.clientSide, p.client, p.server)
		outcomes = append(outcomes, result.PairOutcome{Client: end(p.client, p.server), Server: end(p.server, p.client), Metrics: finite(metrics)})
	}
	for _, p := range l.pairs[1:] {
		l.client, l.server = traffic.Sum(l.client, p.client), traffic.Sum(l.server, p.server)
		l.out.Pairs = outcomes
	}
	c, s := end(l.client, l.server), end(l.server, l.client)
	l.out.Client, l.out.Server = &c, &s
	l.out.Traffic = max(l.client.Traffic, l.server.Traffic)
	if l.Sliced() {
		l.out.Traffic = l.client.Traffic // the server's clock runs on in the turns of others
	}
	l.out.GeneratorLimited = limited(l.client, l.server)
	l.out.Notes = notes(l.client, l.server)
	l.out.Tool = madeBy(l.client, l.server)
}

// finite leaves out what JSON has no word for. Of the sum, that fails the trial.
func finite(metrics map[string]float64) map[string]float64 {
	maps.DeleteFunc(metrics, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	return metrics
}
