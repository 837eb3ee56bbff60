package method

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"tare/bench/harness"
	"tare/internal/result"
)

// defaultRun returns the arguments of the default quick run.
func defaultRun() []string {
	return []string{"--profile", "quick", "--workloads", "tcp_stream,tcp_rr", "--modes", "host,netns/published,netns/bridge,netns/macvlan,netns/vxlan"}
}

// otherWorkloads is a quick run of what the default run does not measure.
const otherWorkloads = `name: other-workloads
profile: quick
modes: [host, netns/published, netns/bridge, netns/macvlan, netns/vxlan]
workloads: [tcp_crr, udp_stream, tcp_stream]
cost_pass: {rate: 2Gbit/s}
`

// target is a row of the table: a value of each run, or the half-width of the ratio of each mode in
// each run.
type target struct {
	what             string
	workload, metric string  // of a half-width
	goal, worst      float64 // of the median, and of the largest, 0 for none
	format           string
	values           []float64
}

// Resolution measures how small a difference quick runs settle, and how soon, beside the goals for
// that on a quiet reference machine.
func Resolution(ctx context.Context, b harness.Options) error {
	whole := &target{what: "the default run, whole", goal: 45, format: "%.1f s"}
	first := &target{what: "first provisional ratios", goal: 15, format: "%.1f s"}
	widths := []*target{
		{what: "tcp_rr", workload: "tcp_rr", metric: "transaction_rate", goal: 0.7},
		{what: "tcp_stream", workload: "tcp_stream", metric: "goodput", goal: 2.5, worst: 5},
		{what: "CPU per transaction", workload: "tcp_rr", metric: "cpu_cost_transactions", goal: 5},
		{what: "CPU per Gbit of tcp_stream", workload: "tcp_stream", metric: "cpu_cost", goal: 5},
		{what: "tcp_crr", workload: "tcp_crr", metric: "connection_rate", goal: 2},
		{what: "udp_stream", workload: "udp_stream", metric: "goodput", goal: 2},
		{what: "CPU per Gbit at 2 Gbit/s", workload: result.CostPassID, metric: "cpu_cost", goal: 5},
	}
	within := 0
	for range b.Runs {
		planned, err := estimate(ctx, b.Tare, defaultRun())
		if err != nil {
			return err
		}
		o, err := b.RunFit(ctx, "", defaultRun()...)
		if err != nil {
			return err
		}
		if o.Wall <= planned {
			within++
		}
		whole.values, first.values = append(whole.values, o.Wall.Seconds()), append(first.values, o.FirstRatios.Seconds())
		other, err := b.RunFit(ctx, otherWorkloads)
		if err != nil {
			return err
		}
		for _, c := range slices.Concat(o.Run.Cells, other.Run.Cells) {
			for _, w := range widths {
				if c.Workload == w.workload && c.Metric == w.metric && c.Mode != c.Baseline && c.Baseline != "" {
					w.values = append(w.values, 100*harness.HalfWidth(c))
				}
			}
		}
	}
	harness.Title("Resolution: %d quick runs", b.Runs)
	harness.Columns("what", "median", "largest", "goal", "met")
	whole.print()
	first.print()
	for _, w := range widths {
		w.what, w.format = "half-width of "+w.what+", four modes", "%.2f %%"
		w.print()
	}
	fmt.Printf("| runs that end within the estimate of tare plan | %d of %d | | 8 of 10 | %s |\n\n", within, b.Runs, met(10*within >= 8*b.Runs))
	return nil
}

// print prints the row. A half-width that is unknown, because there was no interval, meets no goal.
func (t *target) print() {
	median, largest := harness.Median(t.values), math.NaN()
	if len(t.values) > 0 {
		largest = slices.Max(t.values)
	}
	if slices.ContainsFunc(t.values, math.IsNaN) {
		median, largest = math.NaN(), math.NaN()
	}
	figure := func(v float64) string { return fmt.Sprintf(t.format, v) }
	goal := figure(t.goal)
	if t.worst > 0 {
		goal += ", largest " + figure(t.worst)
	}
	fmt.Printf("| %s | %s | %s | %s | %s |\n", t.what, figure(median), figure(largest), goal, met(median <= t.goal && (t.worst == 0 || largest <= t.worst)))
}

func met(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// planned finds the time in the output of tare plan.
var planned = regexp.MustCompile(`(?m)^about (\S+?),`)

// estimate returns how long a run takes by tare plan.
func estimate(ctx context.Context, tare string, args []string) (time.Duration, error) {
	out, err := exec.CommandContext(ctx, tare, append([]string{"plan"}, args...)...).Output()
	if err != nil {
		return 0, fmt.Errorf("tare plan %s: %w", strings.Join(args, " "), err)
	}
	m := planned.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("tare plan prints no time: %.200q", out)
	}
	return time.ParseDuration(string(m[1]))
}
