package evidence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/observe"
	"tare/internal/observe/netstack"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/warning"
)

// mode is one with a path, maybe, and with agents on some of its hosts.
type mode struct {
	path   *driver.Path
	agents map[string]Agent
}

func (m mode) Path() *driver.Path        { return m.path }
func (m mode) AgentOn(host string) Agent { return m.agents[host] }

// trialOf is a trial of a mode that goes well.
func trialOf(cfg Config, m Mode, p plan.Trial) *Trial {
	return New(cfg).Trial(p, m, &result.Trial{}, func() bool { return false })
}

// told records the warnings of an observer.
type told []result.Warning

func (w *told) warn(code warning.Code, scope, format string, args ...any) {
	*w = append(*w, result.Warning{Code: string(code), Scope: scope, Text: fmt.Sprintf(format, args...)})
}

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

// spent is a window of so many ms with so many ticks of work.
func spent(t *testing.T, ms, busy int) observe.CPUTime {
	t.Helper()
	cpu := &script{t: t, next: []string{"1000 50", fmt.Sprint(1000+ms, " ", 50+busy)}}
	return trialOf(Config{Hosts: labdriver.Hosts(), CPU: cpu}, mode{}, plan.Trial{}).Meter(t.Context(), func() {})[LocalKernel]
}

func TestBaseline(t *testing.T) {
	others := 0.1
	wait := func(block, ms, busy int, others *float64) idlePeriod {
		return idlePeriod{block: block, cpuTime: CPUTime{LocalKernel: spent(t, ms, busy)}, others: others}
	}
	opening := func(block, ms, busy int) idlePeriod {
		p := wait(block, ms, busy, nil)
		p.opens = true
		return p
	}
	var none observe.CPUTime
	none.Add(nil, nil)
	lost := idlePeriod{block: 1, cpuTime: CPUTime{LocalKernel: none}}
	for _, c := range []struct {
		name string
		idle []idlePeriod
		want float64
		err  string
	}{
		{"the waits of the block are taken together", []idlePeriod{wait(1, 300, 30, nil), wait(2, 6000, 90, nil), wait(2, 5000, 130, nil)}, 0.2, ""},
		{"the wait that opens a block does not count", []idlePeriod{wait(1, 200, 1, nil), opening(2, 100, 10), wait(2, 100, 2, nil)}, 0.1, ""},
		{"but if there are too few others", []idlePeriod{wait(1, 100, 2, nil), opening(2, 200, 16)}, 0.6, ""},
		{"other programs are taken off", []idlePeriod{wait(2, 300, 15, &others)}, 0.4, ""},
		{"more of others than the machine worked leaves nothing, not less", []idlePeriod{wait(2, 500, 2, &others)}, 0, ""},
		{"short waits are made up by those of earlier blocks", []idlePeriod{wait(1, 200, 20, nil), wait(1, 9900, 195, nil), wait(2, 100, 5, nil)}, 0.2, ""},
		{"too short in all", []idlePeriod{wait(1, 100, 5, nil), wait(2, 100, 5, nil)}, 0, "the idle machine was observed for 200ms, but 250ms are required"},
		{"none", nil, 0, "the idle machine was observed for 0s"},
		{"of a reading that failed nothing is known", []idlePeriod{wait(1, 300, 5, nil), lost}, 0, "could not be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			block := 2
			if c.name == "of a reading that failed nothing is known" {
				block = 1
			}
			o := &Observer{idle: c.idle}
			o.forgetIdle(block) // what is not needed
			got, err := o.baseline(LocalKernel, block)
			if c.err != "" {
				must.FailFor(t, got, err, c.err)
				return
			}
			must.True(t, err == nil && math.Abs(got-c.want) <= 1e-9, "%g (%v), want %g", got, err, c.want)
		})
	}
}

// The trials of a run's first wait have a baseline, too, however short its waits are; a study without
// waits gets none.
func TestFirstWait(t *testing.T) {
	const each = 100 * time.Millisecond
	o := &Observer{}
	if first, none := o.SettleTime(each), o.SettleTime(0); first < leastIdle || none != 0 {
		t.Errorf("the first wait is %s, of a study without any %s", first, none)
	}
	o.idle = []idlePeriod{{block: 1, cpuTime: CPUTime{LocalKernel: spent(t, 500, 1)}}}
	must.EqualFor(t, "the next wait", each, o.SettleTime(each))
}

// However many waits a run has, few are kept: those of the block, and as many before it as
// make up for it.
func TestFewWaitsAreKept(t *testing.T) {
	cpu := &script{t: t}
	for s := range 200 {
		cpu.next = append(cpu.next, fmt.Sprint(1000+1000*s, " ", 10*s))
	}
	var warnings told
	o := New(Config{Hosts: labdriver.Hosts(), CPU: cpu, Warn: warnings.warn})
	var blocks []int
	for block := 1; block <= 50; block++ {
		tr := o.Trial(plan.Trial{Block: block}, mode{}, &result.Trial{}, func() bool { return false })
		for range 2 {
			o.ObserveIdle(t.Context(), []*Trial{tr}, func() {})
		}
	}
	for _, p := range o.idle {
		blocks = append(blocks, p.block)
	}
	// 1 s each, of which the first of a block does not count.
	if want := []int{41, 42, 42, 43, 43, 44, 44, 45, 45, 46, 46, 47, 47, 48, 48, 49, 49, 50, 50}; !slices.Equal(blocks, want) {
		t.Errorf("kept are the waits before blocks %v, want %v", blocks, want)
	}
}

// distant is an agent on a machine with a kernel of its own.
type distant struct {
	kernel string
	cpu    *script
}

func (d distant) CPU(context.Context) (string, observe.Sample, error) {
	s, err := d.cpu.Read()
	return d.kernel, s, err
}

func (d distant) Read(context.Context) (netstack.Reading, error) { return netstack.Reading{}, nil }

// If the endpoints are on other machines, their agents read each of them; two on one
// machine count once, and if one cannot read, the CPU cost is unknown.
func TestBillOfMachinesElsewhere(t *testing.T) {
	hosts := []driver.Host{{Name: "a"}, {Name: "b"}}
	at := func(kernel string, next ...string) Agent { return distant{kernel, &script{t: t, next: next}} }
	path := &driver.Path{Hosts: hosts, Pairs: []driver.Pair{{Client: driver.Endpoint{Host: "a"}, Server: driver.Endpoint{Host: "b"}}}}
	for _, c := range []struct {
		name      string
		direction string
		agents    []Agent            // at a and at b
		want      map[string]float64 // metrics
		machine   []string
		warns     bool
	}{
		{"two machines", study.Forward, []Agent{at("one", "1000 50", "2000 90"), at("two", "1000 3", "2000 63")},
			map[string]float64{result.CPUCost: 0.08, result.CPUSender: 0.3, result.CPUReceiver: 0.5}, []string{"client_cpu_busy", "server_cpu_baseline"}, false},
		{"in reverse", study.Reverse, []Agent{at("one", "1000 50", "2000 90"), at("two", "1000 3", "2000 63")},
			map[string]float64{result.CPUCost: 0.08, result.CPUSender: 0.5, result.CPUReceiver: 0.3}, nil, false},
		{"one machine", study.Forward, []Agent{at("one", "1000 50", "2000 90"), at("one", "1000 50", "2000 95")},
			map[string]float64{result.CPUCost: 0.03, result.CPUMachine: 0.3}, []string{"cpu_busy", "cpu_baseline"}, false},
		{"one that cannot be read", study.Forward, []Agent{at("one", "1000 50", "2000 90"), at("two", "1000 3", "")}, nil, nil, true},
		{"no agents", study.Forward, nil, nil, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mode{path, map[string]Agent{}} // without agents nothing is read
			for i, a := range c.agents {
				m.agents[hosts[i].Name] = a
			}
			one := trialOf(Config{Hosts: hosts}, m, plan.Trial{Block: 1, Mode: "m", Workload: study.Workload{ID: "tcp_stream"}})
			o := one.observer
			one.CPUTime = one.Meter(t.Context(), func() {})
			o.idle = []idlePeriod{{block: 1, cpuTime: CPUTime{"one": spent(t, 1000, 10), "two": spent(t, 1000, 10)}}}
			o.RecordCPUCost(one, &CPUUse{CPUTime: one.CPUTime, Metric: result.CPUCost, Carried: 10, TrafficSeconds: 1, Backward: c.direction == study.Reverse})
			must.Equal(t, c.want, one.Record.Metrics, cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateEmpty())
			for _, name := range c.machine {
				if _, there := one.Record.Machine[name]; !there {
					t.Errorf("no %s in %v", name, one.Record.Machine)
				}
			}
			if n, first := o.MissingCPUCost(); n > 0 != c.warns {
				t.Errorf("unbilled: %d, %s", n, first)
			}
		})
	}
}
