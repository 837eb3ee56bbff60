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

// progressRate is the current rate of a trial's traffic, from what its endpoints report
// while it runs.
type progressRate struct {
	mu       sync.Mutex
	ends     []endpointRate // client and server of each pair
	counted  int            // number of endpoints that count
	lastSent time.Time
	send     func(at time.Duration, rate float64)
}

type endpointRate struct {
	last  traffic.Progress
	rate  float64
	known bool
}

// columns are the workloads of a study with the metric that the live view shows for each.
func columns(s study.Study) []live.Column {
	var all []live.Column
	for _, w := range plan.Workloads(s) {
		made, err := workloads.Named(w.Kind)
		if err != nil {
			continue
		}
		metric := made.Spec().Metric
		if w.Event != "" {
			metric = result.LongestGap
		}
		all = append(all, live.Column{Workload: w.Name(), Metric: metric})
	}
	return all
}

// reportProgress registers the listeners for the progress of a pair that begins next, if
// the run reports progress.
func (r *measurement) reportProgress(tr *trialRun, i int) {
	if r.cfg.Progress <= 0 {
		return
	}
	if tr.progress == nil {
		tr.progress = r.newProgressRate(tr)
	}
	at := tr.tested.agents[i]
	at.client.Watch(tr.progress.listenerOf(2 * i))
	if at.server != nil { // each other client of one server has none of its own
		at.server.Watch(tr.progress.listenerOf(2*i + 1))
	}
}

func (r *measurement) newProgressRate(tr *trialRun) *progressRate {
	p := &progressRate{ends: make([]endpointRate, 2*len(tr.pairs)), counted: len(tr.pairs)}
	if tr.pairs[0].clientSide.Both() {
		p.counted *= 2
	}
	m, _ := result.MetricNamed(tr.work.Spec().Metric)
	factor := 1.0
	if m.Unit == "bit/s" {
		factor = 8 // for metrics counted in bytes
	}
	p.send = func(at time.Duration, rate float64) {
		r.tell(live.Progress{Mode: tr.Mode, Workload: tr.out.Workload, Elapsed: at, Rate: rate * factor, Unit: m.Unit})
	}
	return p
}

// listenerOf returns the listener for one endpoint. A trial that is repeated counts from
// zero.
func (p *progressRate) listenerOf(end int) func(traffic.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends[end] = endpointRate{}
	return func(now traffic.Progress) { p.add(end, now, time.Now()) }
}

// add takes a progress message. It adds up the rates of all endpoints that count, and
// reports the sum no more often than one endpoint reports.
func (p *progressRate) add(end int, now traffic.Progress, at time.Time) {
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
	due := known >= p.counted && at.Sub(p.lastSent) >= traffic.MinProgressInterval*3/4
	if due {
		p.lastSent = at
	}
	p.mu.Unlock()
	if due {
		p.send(now.Busy, sum)
	}
}
