package result

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Search is the result of a rate search; the trial's metrics are the values to compare.
// Loads are in datagrams/s: multiplied by Payload and by 8 they are payload bit/s.
type Search struct {
	Payload int          `json:"payload"` // bytes of a datagram
	Seconds float64      `json:"seconds"` // total sending time of all steps without their warm-up
	Goals   []SearchGoal `json:"goals"`
}

// SearchGoal is the result for one goal. The steps at Lower met the goal and those at
// Upper did not; nil means not found.
type SearchGoal struct {
	Metric      string  `json:"metric"`
	LossGoal    float64 `json:"loss_goal"`    // ratio
	ExceedRatio float64 `json:"exceed_ratio"` // share of the steps' time that may lose more than LossGoal

	Lower      *float64 `json:"lower"`
	Upper      *float64 `json:"upper"`
	Throughput *float64 `json:"throughput"` // conditional throughput: what arrived of the load at Lower

	Regular bool `json:"regular"`            // both bounds exist, as close together as requested
	AtLeast bool `json:"at_least,omitempty"` // no higher load could be offered

	// Lossy of Trials full-length steps at Lower lost more than the goal allows, and the
	// share of such steps is below LossyUpper at 95 % (Clopper and Pearson, one-sided).
	Lossy      int      `json:"lossy"`
	Trials     int      `json:"trials"`
	LossyUpper *float64 `json:"lossy_upper"`

	Notes []string `json:"notes,omitempty"`
}

// Step is one step of a rate search: a load offered for some time.
type Step struct {
	Load      float64 `json:"load"`     // datagrams/s
	Duration  float64 `json:"duration"` // s
	Sent      int64   `json:"sent"`     // datagrams
	Received  int64   `json:"received"` // of Sent; without what was still queued at the end
	LossRatio float64 `json:"loss_ratio"`
	Limited   bool    `json:"limited,omitempty"` // the sender did not reach the load: the step does not show the limit of the path
	Backlog   float64 `json:"backlog,omitempty"` // s that the queue took to drain after the end of the step
}

// throughputs is the prefix of the metrics of a rate search.
const throughputs = "throughput_"

// Searched reports whether a metric is the rate that a search found for a loss goal.
func Searched(metric string) bool { return strings.HasPrefix(metric, throughputs) }

// throughput is the metric of that name if it belongs to a rate search: its loss goal in
// percent, with an underscore as decimal point, and "_strict" if no step may lose more.
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

// MetricsOf is [Metrics] plus those of rate searches with other loss goals: the metrics
// that these trials may have, in order.
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

// order is the sort key of search metrics: by goal, strict ones last.
func order(name string) string {
	goal, strict := strings.CutSuffix(strings.TrimPrefix(name, throughputs), "_strict")
	x, err := strconv.ParseFloat(strings.Replace(goal, "_", ".", 1), 64)
	if err != nil {
		return name
	}
	return fmt.Sprintf("%t %012.8f", strict, x)
}
