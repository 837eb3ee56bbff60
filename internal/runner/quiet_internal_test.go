package runner

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tare/internal/live"
	"tare/internal/observe"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/runner/schedule"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// events collects what a run tells.
type events []live.Event

func (e *events) Handle(one live.Event) { *e = append(*e, one) }

// load is a window of one second with this use of CPUs by other programs.
func load(others float64) observe.Window {
	return observe.Window{Metrics: map[string]float64{result.MachineElapsed: 1, result.MachineOthers: others}}
}

// A run waits for a quieter machine before a trial that the load would make invalid, tells
// so, and goes on when its patience or its time limit is reached.
func TestAwaitQuiet(t *testing.T) {
	const patience = 10 * time.Second
	datagrams := study.Workload{ID: "udp_stream", Kind: "udp_stream", PayloadSize: 1000, Rate: 1_000_000}
	for _, tt := range []struct {
		name    string
		modes   int
		work    study.Workload
		maxTime time.Duration
		loads   []float64 // of the windows in order; the last one remains
		want    time.Duration
		told    []string
	}{
		{"a quiet machine", 1, study.Workload{}, 0, []float64{0.03}, 0, nil},
		{"two ticks are chance", 1, study.Workload{}, 0, []float64{0.07}, 0, nil},
		{"quiet after a while", 1, study.Workload{}, 0, []float64{1.8, 1.7, 0.2, 0.01}, 3 * time.Second, []string{
			"waiting for a quieter machine, at most 10 s: other programs use 180 % of a CPU, limit 5 %", "the machine is quieter after 3.0 s"}},
		{"busy all the time", 1, study.Workload{}, 0, []float64{1.8}, patience, []string{
			"waiting for a quieter machine, at most 10 s: other programs use 180 % of a CPU, limit 5 %",
			"waited 10 s for a quieter machine in vain: other programs use 180 % of a CPU, limit 5 %, and trials under such a load are invalid. Stop other programs, or use a quieter machine."}},
		{"no time left", 1, study.Workload{}, time.Millisecond, []float64{1.8}, 0, nil},
		{"interleaved, which share the load", 2, study.Workload{}, 0, []float64{1.8}, 0, nil},
		{"interleaved at a fixed rate", 2, datagrams, 0, []float64{1.8, 0.05}, time.Second, []string{
			"waiting for a quieter machine, at most 10 s: other programs use 180 % of a CPU, limit 10 %", "the machine is quieter after 1.0 s"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := runWith(rules())
			var told events
			r.cfg.Listener, r.patience, r.cfg.Study.MaxTime = &told, patience, quantity.Duration(tt.maxTime)
			r.schedule = schedule.New(schedule.Config{Study: r.cfg.Study}, plan.Plan{})
			r.schedule.Began = time.Now()
			var group []*trialRun
			for range tt.modes {
				tr := trialWith(map[string]float64{})
				tr.Workload = tt.work
				group = append(group, tr)
			}
			next := func() observe.Window {
				w := load(tt.loads[0])
				if len(tt.loads) > 1 {
					tt.loads = tt.loads[1:]
				}
				return w
			}
			began := time.Now()
			r.awaitQuiet(t.Context(), group, next(), func() observe.Window {
				time.Sleep(quietWindow)
				return next()
			})
			var texts []string
			for _, e := range told {
				switch e := e.(type) {
				case live.Waiting:
					texts = append(texts, e.Text)
				case live.WarningRaised:
					texts = append(texts, e.Warning.Text)
				}
			}
			must.EqualFor(t, tt.name+": told", tt.told, texts)
			if took := time.Since(began); took != tt.want || r.patience != patience-took {
				t.Errorf("%s: waited %s, want %s; patience %s", tt.name, took, tt.want, r.patience)
			}
		})
	}
}

// Datagrams at a fixed rate are invalid if an endpoint lacked a CPU because of others. What
// the mode's own processing took from it is the mode's cost.
func TestLackedCPU(t *testing.T) {
	datagrams := study.Workload{ID: "udp", Kind: "udp_stream", PayloadSize: 1000, Rate: 1_000_000}
	const why = "an endpoint had no CPU for 30 % of the time because of other programs, more than 10 % (mostly cc1)"
	for _, tt := range []struct {
		name           string
		work           study.Workload
		client, server *float64 // seconds that each waited, of 2 s with traffic
		others, steal  float64  // CPU seconds, of 10 s and of 2 s
		most           quantity.Share
		want           string
	}{
		{"the receiver waited, others ran", datagrams, new(0.01), new(0.6), 9, 0, quantity.ShareOf(0.1), why},
		{"the sender waited", datagrams, new(0.6), new(0.01), 9, 0, quantity.ShareOf(0.1), why},
		{"it waited for the mode itself", datagrams, new(0.01), new(0.6), 0.2, 0, quantity.ShareOf(0.1), ""},
		{"others ran, but not at its cost", datagrams, new(0.01), new(0.02), 9, 0, quantity.ShareOf(0.1), ""},
		{"the hypervisor", datagrams, new(0.01), new(0.02), 0, 0.5, quantity.ShareOf(0.1), "an endpoint had no CPU for 25 % of the time because of the hypervisor, more than 10 % (mostly cc1)"},
		{"both, each below the limit", datagrams, new(0.12), new(0.02), 9, 0.1, quantity.ShareOf(0.1), "an endpoint had no CPU for 11 % of the time because of other programs and the hypervisor, more than 10 % (mostly cc1)"},
		{"waits unknown", datagrams, nil, nil, 9, 0, quantity.ShareOf(0.1), ""},
		{"the rule off", datagrams, new(0.01), new(0.6), 9, 0.5, quantity.NotApplied(), ""},
		{"as fast as possible", study.Workload{ID: "udp", Kind: "udp_stream", PayloadSize: 1000, Rate: quantity.Unlimited}, new(0.01), new(0.6), 9, 0, quantity.ShareOf(0.1), ""},
		{"a TCP stream", study.Workload{ID: "tcp", Kind: "tcp_stream", WriteSize: 1000, Rate: 1_000_000}, new(0.01), new(0.6), 9, 0, quantity.ShareOf(0.1), ""},
	} {
		tr := trialWith(map[string]float64{result.MachineOthers: tt.others})
		tr.Workload, tr.observed.Shared, tr.out.Traffic = tt.work, true, 2
		tr.out.Machine = map[string]float64{result.MachineSteal: tt.steal, result.MachineTime: 2}
		tr.pairs = []*pair{{client: traffic.Report{CPUWait: tt.client}, server: traffic.Report{CPUWait: tt.server}}}
		runWith(study.Invalid{CPUWait: tt.most}).markInvalid([]*trialRun{tr})
		must.EqualFor(t, tt.name, tt.want, tr.invalidReason)
		wait, known := tr.out.Machine[result.MachineEndpointWait]
		if want := tt.client != nil; known != want || known && wait != max(*tt.client, *tt.server) {
			t.Errorf("%s: recorded a wait of %g (%t)", tt.name, wait, known)
		}
	}
}

// Load that exceeded a limit cannot have changed the goodput of a trial that filled the
// link: it counts, with a note. One that did not fill it is invalid.
func TestKeptAtLink(t *testing.T) {
	underlay := study.Lab{MTU: 1500, Rate: 740_000_000}
	capacity := 740e6 * 1448 / 1514
	for _, tt := range []struct {
		name    string
		lab     study.Lab
		goodput float64
		kept    bool
	}{
		{"at the link's capacity", underlay, 0.99 * capacity, true},
		{"below it", underlay, 0.9 * capacity, false},
		{"above it: it does not cross the link", underlay, 2 * capacity, false},
		{"no limit known", study.Lab{MTU: 1500}, capacity, false},
	} {
		tr := trialWith(map[string]float64{result.MachineSteal: 1})
		tr.Workload.WriteSize, tr.underlay = 128<<10, tt.lab
		tr.out.Metrics, tr.out.Client = map[string]float64{"goodput": tt.goodput}, &result.End{MSS: 1448}
		runWith(rules()).markInvalid([]*trialRun{tr})
		const load = "the hypervisor took 10 % of a CPU, more than 2 %"
		if kept := tr.invalidReason == ""; kept != tt.kept || !kept && tr.invalidReason != load {
			t.Errorf("%s: %q", tt.name, tr.invalidReason)
		}
		must.EqualFor(t, fmt.Sprintf("%s: notes %v", tt.name, tr.out.Notes), tt.kept, len(tr.out.Notes) == 1 && tr.out.Notes[0].Code == "kept_at_link" && strings.HasPrefix(tr.out.Notes[0].Text, load+": valid nevertheless"))
	}
}
