package result

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Search is what a rate search found, of which a trial's metrics are the figures to
// compare. Loads are in datagrams/s: times Payload times 8 they are payload bit/s.
type Search struct {
	Payload int          `json:"payload"` // bytes of a datagram
	Seconds float64      `json:"seconds"` // that all steps sent for, their warm-up not counted
	Goals   []SearchGoal `json:"goals"`
}

// SearchGoal is the answer for one goal. The steps at Lower kept the goal and those
// at Upper did not; what is nil was not found.
type SearchGoal struct {
	Metric      string  `json:"metric"`
	LossGoal    float64 `json:"loss_goal"`    // ratio
	ExceedRatio float64 `json:"exceed_ratio"` // share of the steps' time that may lose more

	Lower      *float64 `json:"lower"`
	Upper      *float64 `json:"upper"`
	Throughput *float64 `json:"throughput"` // conditional throughput at Lower: what arrived of it

	Regular bool `json:"regular"`            // both bounds are there, as close as asked for
	AtLeast bool `json:"at_least,omitempty"` // nothing higher could be offered

	// Of Trials full-length steps at Lower so many lost more than the goal allows, and
	// the share of such steps is below LossyUpper at 95 % (Clopper and Pearson, one
	// side).
	Lossy      int      `json:"lossy"`
	Trials     int      `json:"trials"`
	LossyUpper *float64 `json:"lossy_upper"`

	Notes []string `json:"notes,omitempty"`
}

// Step is one step of a rate search: so much offered for so long.
type Step struct {
	Load      float64 `json:"load"`     // datagrams/s
	Duration  float64 `json:"duration"` // s
	Sent      int64   `json:"sent"`     // datagrams
	Received  int64   `json:"received"` // of Sent; without what was still queued at the end
	LossRatio float64 `json:"loss_ratio"`
	Limited   bool    `json:"limited,omitempty"` // the sender did not reach the load: it says nothing of the path
	Backlog   float64 `json:"backlog,omitempty"` // s that what was queued took to arrive behind the step's end
}

// throughputs is how metrics of a rate search begin.
const throughputs = "throughput_"

// throughput is the metric of that name where it is one of a rate search: its loss
// goal in percent, with an underscore for the point, and "_strict" where no step may
// lose more.
func throughput(name string) (Metric, bool) {
	rest, ok := strings.CutPrefix(name, throughputs)
	goal, strict := strings.CutSuffix(rest, "_strict")
	percent := strings.Replace(goal, "_", ".", 1)
	x, err := strconv.ParseFloat(percent, 64)
	if !ok || err != nil || x < 0 || x > 100 || strconv.FormatFloat(x, 'f', -1, 64) != percent {
		return Metric{}, false
	}
	what := "median step"
	if strict {
		what = "every step"
	}
	m := Metric{Name: name, Unit: "bit/s", Better: Higher, Title: fmt.Sprintf("Throughput, %s lost at most %s %%", what, percent)}
	switch {
	case name == "throughput_0":
		m.Title, m.Primary = "Throughput without loss", true
	case x == 0:
		m.Title = "Throughput, no step with loss"
	case !strict:
		m.Title = fmt.Sprintf("Throughput at %s %% loss", percent)
	}
	return m, true
}

// MetricsOf is [Metrics] with what rate searches for other loss goals added: the
// metrics that these trials may have, in order.
func MetricsOf(trials []Trial) []Metric {
	all := Metrics()
	var more []string
	for i := range trials {
		if trials[i].Search == nil {
			continue
		}
		for name := range trials[i].Metrics {
			if _, known := MetricNamed(name); known && !slices.ContainsFunc(all, func(m Metric) bool { return m.Name == name }) && !slices.Contains(more, name) {
				more = append(more, name)
			}
		}
	}
	slices.SortFunc(more, func(a, b string) int { return strings.Compare(order(a), order(b)) })
	for _, name := range more {
		m, _ := MetricNamed(name)
		all = append(all, m)
	}
	return all
}

// order sorts metrics of searches by their goal, strict ones last.
func order(name string) string {
	goal, strict := strings.CutSuffix(strings.TrimPrefix(name, throughputs), "_strict")
	x, err := strconv.ParseFloat(strings.Replace(goal, "_", ".", 1), 64)
	if err != nil {
		return name
	}
	return fmt.Sprintf("%t %012.8f", strict, x)
}
