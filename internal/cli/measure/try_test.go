package measure

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/driver/setting"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/why"
)

// Settings are ranked by the main metric of the first workload: what helps most first, and what
// is shown to harm is not tried in pairs.
func TestRankTries(t *testing.T) {
	var tries []why.Try
	var run result.Run
	add := func(name string, ratio float64, v result.Verdict) {
		tries = append(tries, why.Try{Name: "try-" + name, Candidate: setting.Candidate{With: map[string]string{name: "on"}, Permanent: []string{"sysctl " + name}, GivesUp: "what " + name + " did"}})
		for _, metric := range []string{"cpu_cost_transactions", "transaction_rate"} {
			run.Comparisons = append(run.Comparisons, result.Comparison{ID: "try-" + name, Metric: metric, Better: result.Higher, Judgement: result.Judgement{Ratio: &ratio, Verdict: v, RatioCI: &result.Interval{ratio - 0.01, ratio + 0.01}}, A: result.Side{ID: "try-" + name, Workload: "tcp_rr"}})
		}
	}
	add("a", 1.02, result.CannotTell)
	add("b", 0.80, result.Worse)
	add("c", 1.20, result.Better)
	add("d", 1.00, result.Same)
	add("e", 0.99, result.Small)
	tries = append(tries, why.Try{Name: "try-unsupported"})
	ranked := rankTries(run, tries)
	var order []string
	for _, r := range ranked {
		order = append(order, r.Name)
	}
	must.Equal(t, "try-c try-a try-d try-e try-b", strings.Join(order, " "))
	order = nil
	for _, b := range best(ranked) {
		order = append(order, b.Name)
	}
	must.Equal(t, "try-c try-a try-d", strings.Join(order, " "))
	var out bytes.Buffer
	must.Do(t, printTries(&out, "netns/vxlan", ranked))
	must.Contain(t, out.String(), "against netns/vxlan (transaction_rate of tcp_rr)", "c: on  +20 % (+19 .. +21)  better", "c: on, permanently:\n  sysctl c\nIt gives up: what c did.")
	must.True(t, !strings.Contains(out.String(), "sysctl b") && !strings.Contains(out.String(), "sysctl e"), "a setting that harms is advised")
	out.Reset()
	concludeTries(&out, "netns/vxlan", ranked)
	must.Equal(t, "\nc: on helps netns/vxlan most: transaction_rate of tcp_rr +20 % (+19 .. +21). 5 settings and pairs were tried; 1 helps.\n", out.String())
	out.Reset()
	concludeTries(&out, "netns/vxlan", ranked[1:])
	must.Equal(t, "\nNothing is shown to make netns/vxlan faster: 4 settings and pairs were tried; 2 slower, 1 without a difference, 1 inconclusive.\n", out.String())
}
