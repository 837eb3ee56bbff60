package runner

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/driver/labdriver"
	"tare/internal/live"
	"tare/internal/observe"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/runner/evidence"
	"tare/internal/stats/ratesearch"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// script is a collector of CPU time that reads what it is told to, and notes when.
type script struct {
	t     *testing.T
	next  []string // of one CPU: "ms busy", the ticks that it was not idle; empty fails
	reads []time.Time
}

func (s *script) Name() string { return "cpu" }

func (s *script) Read() (observe.Sample, error) {
	s.reads = append(s.reads, time.Now())
	if len(s.next) == 0 || s.next[0] == "" {
		return nil, errors.New("no CPU time")
	}
	var ms, busy int
	must.Get(fmt.Sscan(s.next[0], &ms, &busy))(s.t)
	s.next = s.next[1:]
	ticks := []uint64{0, 0, uint64(busy), uint64(ms/10 - busy), 0, 0, 0, 0}
	sample := must.Get(observe.CPUTimes{Machine: ticks, CPUs: []observe.CPUCounts{{Ticks: ticks}}}.Sample(time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond)))(s.t)
	return sample, nil
}

// nobody listens to a run.
type nobody struct{}

func (nobody) Handle(live.Event) {}

// observer reads this machine's CPU time from a script, and nothing else.
func observer(cpu *script) *evidence.Observer {
	return evidence.New(evidence.Config{Hosts: labdriver.Hosts(), CPU: cpu, Watch: observe.NewCollectorSet(nil)})
}

// observed is the evidence around a trial, of which nothing has been read.
func observed(o *evidence.Observer, tr *trialRun) *trialRun {
	if tr.tested == nil {
		tr.tested = &modeUnderTest{}
	}
	tr.observed = o.Trial(tr.Trial, tr.tested, &tr.out, func() bool { return tr.err != nil })
	return tr
}

// spent is a window of so many ms with so many ticks of work.
func spent(t *testing.T, ms, busy int) observe.CPUTime {
	t.Helper()
	cpu := &script{t: t, next: []string{"1000 50", fmt.Sprint(1000+ms, " ", 50+busy)}}
	return observed(observer(cpu), &trialRun{}).observed.Meter(t.Context(), func() {})[evidence.LocalKernel]
}

// idling is an observer that has seen a machine wait for so many ms in block 1, with so
// many ticks of work.
func idling(t *testing.T, ms, busy int) *evidence.Observer {
	t.Helper()
	o := observer(&script{t: t, next: []string{"1000 50", fmt.Sprint(1000+ms, " ", 50+busy)}})
	o.ObserveIdle(t.Context(), []*evidence.Trial{observed(o, &trialRun{Trial: plan.Trial{Block: 1}}).observed}, func() {})
	return o
}

// Each trial is charged for its own slices. After a slice of datagrams the receiver has
// time to process what is left.
func TestTurnsAreMeteredApart(t *testing.T) {
	cpu := &script{t: t, next: []string{"1000 50", "1100 51", "1100 51", "1200 61", "9000 700", "9100 704"}}
	o := observer(cpu)
	r := &run{}
	r.observer = o
	sliced := func(w study.Workload) *trialRun {
		w.Slice, w.Duration = quantity.Duration(100*time.Millisecond), quantity.Duration(time.Second)
		return observed(o, &trialRun{Trial: plan.Trial{Workload: w}, work: must.Get(workloads.Named(w.Kind))(t)})
	}
	first := sliced(study.Workload{Kind: "udp_stream", PayloadSize: 1400})
	second := sliced(study.Workload{Kind: "tcp_rr"})
	for _, tr := range []*trialRun{first, second, first} {
		r.runSlice(t.Context(), tr, nil)
	}
	for i, c := range []struct {
		tr   *trialRun
		busy float64
		long time.Duration
	}{{first, 0.05, 200 * time.Millisecond}, {second, 0.1, 100 * time.Millisecond}} {
		s := c.tr.observed.CPUTime[evidence.LocalKernel]
		if got, err := s.Busy(); err != nil || math.Abs(got-c.busy) > 1e-9 || s.Length() != c.long {
			t.Errorf("trial %d: busy %g (%v) in %s, want %g in %s", i, got, err, s.Length(), c.busy, c.long)
		}
	}
	if d := cpu.reads[1].Sub(cpu.reads[0]); d < receiverPoll {
		t.Errorf("a turn of datagrams was over after %s", d)
	}
}

// costing is a trial that worked 1.5 CPU s in 2 s and carried something.
func costing(t *testing.T, o *evidence.Observer, kind string, client, server traffic.Report) *trialRun {
	t.Helper()
	made := must.Get(workloads.Named(kind))(t)
	tr := &trialRun{Trial: plan.Trial{Block: 1, Mode: "host", Workload: study.Workload{ID: kind, Kind: kind}}, work: made, client: client, server: server}
	observed(o, tr).observed.CPUTime = evidence.CPUTime{evidence.LocalKernel: spent(t, 2000, 150)}
	tr.out.Traffic = 1.6
	return tr
}

// The CPU cost is the CPU time above the baseline and above that of other programs, for
// everything that was carried in the same time.
func TestPrices(t *testing.T) {
	quarter := traffic.Report{End: result.End{Received: 1e9 / 8 / 4}}
	for _, c := range []struct {
		kind           string
		client, server traffic.Report
		metric         string
		want           float64
	}{
		{"tcp_stream", traffic.Report{End: result.End{Sent: 1e9}}, traffic.Report{End: result.End{Received: 10e9 / 8}}, result.CPUCost, 0.08},
		{"tcp_stream", traffic.Report{End: result.End{Received: 10e9 / 8}}, traffic.Report{End: result.End{Sent: 1e9}}, result.CPUCost, 0.08},
		{"tcp_stream", quarter, quarter, result.CPUCost, 1.6},
		{"udp_stream", traffic.Report{End: result.End{Sent: 9e9}}, quarter, result.CPUCost, 3.2},
		{"tcp_rr", traffic.Report{Messages: 40000}, traffic.Report{Messages: 40000}, result.CPUCostTransactions, 0.02},
		{"udp_rr", traffic.Report{Messages: 80000}, traffic.Report{Messages: 80001}, result.CPUCostTransactions, 0.01},
		{"tcp_crr", traffic.Report{Messages: 10000}, traffic.Report{}, result.CPUCostConnections, 0.08},
	} {
		o := idling(t, 400, 8) // 0.2 CPUs, and 0.15 of others
		tr := costing(t, o, c.kind, c.client, c.server)
		tr.observed.Window = observe.Window{Metrics: map[string]float64{result.MachineOthers: 0.75, result.MachineElapsed: 5}}
		o.RecordCPUCost(tr.observed, tr.cpuUse())
		want := map[string]float64{c.metric: c.want, result.CPUMachine: 0.5}
		for name, v := range want {
			if got := tr.out.Metrics[name]; math.Abs(got-v) > 1e-9 {
				t.Errorf("%s: %s is %g, want %g", c.kind, name, got, v)
			}
		}
		if m := tr.out.Machine; len(tr.out.Metrics) != 2 || math.Abs(m["cpu_baseline"]-0.2) > 1e-9 || math.Abs(m["cpu_busy"]-1.5) > 1e-9 || m[result.MachineTime] != 2 {
			t.Errorf("%s: metrics %v, machine %v", c.kind, tr.out.Metrics, m)
		}
	}
}

// The cost of the search's rate comes from the steps at that rate.
func TestPriceOfASearch(t *testing.T) {
	o := idling(t, 1000, 10)
	tr := costing(t, o, "udp_search", traffic.Report{}, traffic.Report{})
	state := must.Get(ratesearch.New(plan.Search(study.Workload{
		Kind: "udp_search", LossGoals: quantity.LossGoals{0}, Goal: study.Median, ExceedRatio: quantity.PortionOf(0.5), Step: quantity.Duration(time.Second), StepSum: quantity.Duration(3 * time.Second),
		Precision: 0.05, MinRate: 1e6, MaxRate: 100e6, MaxSearch: quantity.Duration(time.Hour), PayloadSize: 1400,
	})))(t)
	tr.search = &search{state: state}
	const most = 5000 // datagrams/s
	for {
		req, more := state.Next()
		if !more {
			break
		}
		sent := int64(math.Round(req.Load * req.Duration))
		must.Do(t, state.Add(ratesearch.Trial{Load: req.Load, Duration: req.Duration, Intended: sent, Sent: sent, Received: min(sent, int64(most*req.Duration))}))
		tr.search.costs = append(tr.search.costs, stepCost{load: req.Load, gbit: 0.1, flowing: req.Duration, spent: evidence.CPUTime{evidence.LocalKernel: spent(t, 1000, 100)}})
	}
	lower := state.Outcomes()[0].Lower
	must.Require(t, lower != nil, "the search has no answer")
	at, long := 0, 0.0
	for i := range tr.search.costs {
		if c := &tr.search.costs[i]; c.load == *lower {
			at, long = at+1, long+c.flowing
			c.spent = evidence.CPUTime{evidence.LocalKernel: spent(t, 1000, 40)}
		}
	}
	must.Require(t, at != 0 && at != len(tr.search.costs), "%d of %d steps are at the rate found", at, len(tr.search.costs))
	o.RecordCPUCost(tr.observed, tr.cpuUse())
	if got := tr.out.Metrics[result.CPUCost]; math.Abs(got-3) > 1e-9 {
		t.Errorf("cost %g, want 0.4 less 0.1 CPU s for 0.1 Gbit each", got)
	}
	if got, want := tr.out.Metrics[result.CPUMachine], 0.3*float64(at)/long; math.Abs(got-want) > 1e-9 {
		t.Errorf("CPUs busy %g, want %g", got, want)
	}
}

// If the CPU cost cannot be measured, it is absent, and one warning says why.
func TestNoBill(t *testing.T) {
	idle := func(ticks int) *evidence.Observer { return idling(t, 1000, ticks) }
	carried := traffic.Report{End: result.End{Received: 1e9}}
	lost := observe.CPUTime{}
	lost.Add(nil, nil)
	for _, c := range []struct {
		name   string
		idle   *evidence.Observer
		change func(*trialRun)
		want   string
	}{
		{"no baseline", observer(nil), func(*trialRun) {}, "idle machine was observed"},
		{"no CPU time", idle(1), func(tr *trialRun) { tr.observed.CPUTime = evidence.CPUTime{evidence.LocalKernel: lost} }, "could not be read"},
		{"no more than when idle", idle(75), func(*trialRun) {}, "used 0 CPU seconds"},
		{"less than can be seen", idle(74), func(tr *trialRun) { tr.observed.CPUTime = evidence.CPUTime{evidence.LocalKernel: spent(t, 2000, 149)} }, "used 0.01 CPU seconds above the idle baseline, but less than 0.0122"},
		{"nothing carried", idle(1), func(tr *trialRun) { tr.server = traffic.Report{} }, "the carried traffic is unknown"},
		{"no time with traffic", idle(1), func(tr *trialRun) { tr.out.Traffic = 0 }, "is unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := costing(t, c.idle, "tcp_stream", traffic.Report{}, carried)
			c.change(tr)
			dir := must.Get(store.Create(filepath.Join(t.TempDir(), "run")))(t)
			defer dir.Close()
			r := &run{}
			r.observer, r.cfg = c.idle, Config{Listener: nobody{}, Dir: dir}
			r.schedule = r.scheduling()
			r.observer.RecordCPUCost(tr.observed, tr.cpuUse())
			must.Do(t, r.evaluate())
			if _, priced := tr.out.Metrics[result.CPUCost]; priced {
				t.Errorf("metrics %v", tr.out.Metrics)
			}
			if w := r.out.Warnings; len(w) != 1 || w[0].Code != "no_cpu_bill" || !strings.Contains(w[0].Text, c.want) {
				t.Errorf("warnings %v, want one with %q", w, c.want)
			}
		})
	}
}

// A trial of exchanges ends its slices when half of its time is used; one that counts bytes does not.
func TestEnough(t *testing.T) {
	want := map[string]bool{"tcp_rr": true, "tcp_crr": true, "tcp_dns": true, "http": true, "http2": true, "grpc": true, "udp_rr": true, "udp_dns": true, "tcp_stream": false, "udp_stream": false, "udp_sweep": false, "udp_search": false}
	got := map[string]bool{}
	for _, w := range workloads.All() {
		tr := trialRun{work: w, budget: 10 * time.Second, elapsed: 5 * time.Second}
		early := tr.enough()
		tr.elapsed++
		if got[w.Spec().Kind] = tr.enough(); early {
			t.Errorf("%s ends at half of its time", w.Spec().Kind)
		}
	}
	must.Equal(t, want, got)
}
