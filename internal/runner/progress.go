package runner

import (
	"sync"
	"time"

	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// pulse is the rate of a trial's traffic while it flows, from what its ends tell.
type pulse struct {
	mu   sync.Mutex
	ends []endPulse // client and server of each pair
	want int        // how many of the ends count
	told time.Time
	tell func(at time.Duration, rate float64)
}

type endPulse struct {
	last  traffic.Progress
	rate  float64
	known bool
}

// columns are the figures that stand for the workloads of a study.
func columns(s study.Study) []live.Column {
	var all []live.Column
	for _, w := range plan.Workloads(s) {
		if made, err := workloads.Named(w.Kind); err == nil {
			all = append(all, live.Column{Workload: w.Name(), Metric: made.Spec().Metric})
		}
	}
	return all
}

// follow makes ready to hear of the ends of a pair that begin next, where anybody asked.
func (r *run) follow(tr *trialRun, i int) {
	if r.cfg.Progress <= 0 {
		return
	}
	if tr.pulse == nil {
		tr.pulse = r.newPulse(tr)
	}
	at := tr.tested.agents[i]
	at.client.Watch(tr.pulse.of(2 * i))
	at.server.Watch(tr.pulse.of(2*i + 1))
}

func (r *run) newPulse(tr *trialRun) *pulse {
	p := &pulse{ends: make([]endPulse, 2*len(tr.pairs)), want: len(tr.pairs)}
	if tr.pairs[0].clientSide.Both {
		p.want *= 2
	}
	m, _ := result.MetricNamed(tr.work.Spec().Metric)
	factor := 1.0
	if m.Unit == "bit/s" {
		factor = 8 // of what is counted in bytes
	}
	p.tell = func(at time.Duration, rate float64) {
		r.tell(live.Progress{Mode: tr.Mode, Workload: tr.out.Workload, Elapsed: at, Rate: rate * factor, Unit: m.Unit})
	}
	return p
}

// of is what hears one end. A trial that begins anew counts from nothing.
func (p *pulse) of(end int) func(traffic.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends[end] = endPulse{}
	return func(now traffic.Progress) { p.hear(end, now, time.Now()) }
}

// hear takes a message. The rates of all ends that count make one, no more often than
// one end tells.
func (p *pulse) hear(end int, now traffic.Progress, at time.Time) {
	p.mu.Lock()
	e := &p.ends[end]
	if rate, ok := now.Rate(e.last); ok {
		e.rate, e.known = rate, true
	}
	e.last = now
	sum, known := 0.0, 0
	for _, e := range p.ends {
		if e.known {
			sum += e.rate
			known++
		}
	}
	due := known >= p.want && at.Sub(p.told) >= traffic.MinProgressInterval*3/4
	if due {
		p.told = at
	}
	p.mu.Unlock()
	if due {
		p.tell(now.Busy, sum)
	}
}
