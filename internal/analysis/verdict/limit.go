package verdict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study/quantity"
)

// What a limit can be on, besides the metrics.
const (
	limitTime   = "time"   // what the mode adds to the baseline, as Cell.Added
	limitChange = "change" // the change against the baseline, in percent
)

// Limit is a bound on a mode's cost, such as docker/published.tcp_rr.time <= +5us.
type Limit struct {
	Text                   string
	Mode, Workload, Metric string  // Metric is limitTime, limitChange or the name of a metric
	Most                   bool    // the value must be at most Bound; else at least
	Bound                  float64 // s, a ratio to the baseline, or the metric's base unit
}

// ParseLimit reads MODE.WORKLOAD.WHAT <= VALUE, or >=. WHAT is time with a value such as +5us, change with one in percent,
// or a metric with a value in its unit: 10Gbit/s, 300us, 1%, or a plain number.
func ParseLimit(text string) (Limit, error) {
	l := Limit{Text: strings.Join(strings.Fields(text), " ")}
	fail := func(why string) (Limit, error) {
		return l, fmt.Errorf("limit %q: %s; want MODE.WORKLOAD.WHAT <= VALUE, such as docker/published.tcp_rr.time <= +5us", l.Text, why)
	}
	of, value, most := strings.Cut(l.Text, "<=")
	if !most {
		var least bool
		if of, value, least = strings.Cut(l.Text, ">="); !least {
			return fail("it has neither <= nor >=")
		}
	}
	of, value, l.Most = strings.TrimSpace(of), strings.TrimSpace(value), most
	parts := strings.Split(of, ".")
	n := len(parts)
	if n < 3 || slices.Contains(parts, "") {
		return fail("it does not name a mode, a workload and what is limited")
	}
	l.Mode, l.Workload, l.Metric = strings.Join(parts[:n-2], "."), parts[n-2], parts[n-1] // a mode's name may have dots
	var err error
	switch m, known := result.MetricNamed(l.Metric); {
	case l.Metric == limitTime:
		l.Bound, err = seconds(value)
	case l.Metric == limitChange:
		if l.Bound, err = percentage(value); err == nil {
			l.Bound++
		}
	case !known:
		return fail(fmt.Sprintf("there is no metric %q; use time, change or a metric of docs/metrics.md", l.Metric))
	case m.Unit == "bit/s":
		var r quantity.Rate
		err = r.UnmarshalText([]byte(value))
		l.Bound = float64(r)
	case m.Unit == "s":
		l.Bound, err = seconds(value)
	case m.Unit == "ratio":
		l.Bound, err = percentage(value)
	default:
		l.Bound, err = strconv.ParseFloat(value, 64)
	}
	if err != nil || !readings.Finite(l.Bound) {
		return fail(fmt.Sprintf("%q is no value of %s", value, l.Metric))
	}
	return l, nil
}

// seconds reads a signed duration with its unit.
func seconds(text string) (float64, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	return d.Seconds(), err
}

// percentage reads a signed number of percent as a share.
func percentage(text string) (float64, error) {
	number, has := strings.CutSuffix(text, "%")
	if !has {
		return 0, strconv.ErrSyntax
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	return v / 100, err
}

// LimitOutcome is what the values of a run say of a limit.
type LimitOutcome string

// The outcomes. Only an interval that is wholly on one side of the bound decides.
const (
	LimitKept   LimitOutcome = "kept"
	LimitBroken LimitOutcome = "broken"
	LimitOpen   LimitOutcome = "open" // the interval contains the bound, or there is no value: why says which
)

// Judge compares a limit with the cells of a run. cell is that of its value, nil if the run has none.
func (l Limit) Judge(cells []result.Cell) (outcome LimitOutcome, why string, cell *result.Cell) {
	i := slices.IndexFunc(cells, func(c result.Cell) bool { return c.Mode == l.Mode && c.Workload == l.Workload && l.about(c.Metric) })
	if i < 0 {
		return LimitOpen, "the run has no such value", nil
	}
	c := cells[i]
	value, ci := c.Value, c.CI
	switch {
	case l.Metric == limitChange:
		value, ci = c.Ratio, c.RatioCI
	case l.Metric == limitTime && c.Added == nil:
		value, ci = nil, nil
	case l.Metric == limitTime:
		value, ci = &c.Added.Value, c.Added.CI
	}
	switch {
	case value == nil:
		return LimitOpen, "its value is not known", &c
	case ci == nil && *value == 0 && c.N >= stats.MinPairs && value == c.Value:
		ci = &result.Interval{} // 0 in each trial
	case ci == nil:
		return LimitOpen, "its value has no interval", &c
	}
	lo, hi, bound := ci[0], ci[1], l.Bound
	rises, falls := c.AtLeast, l.IsChange() && result.BoundBaselines(cells)(c) // the true value may be above, or below
	if !l.Most {                                                               // turned so that less is kept
		lo, hi, bound = -hi, -lo, -bound
		rises, falls = falls, rises
	}
	switch {
	case hi <= bound && !rises:
		return LimitKept, "", &c
	case lo > bound && !falls:
		return LimitBroken, "", &c
	case hi <= bound || lo > bound:
		return LimitOpen, "the generator limits a value, which is a lower bound only", &c
	}
	return LimitOpen, "the interval contains the limit", &c
}

// Idle says why a limit on a change of that cell's metric holds for any cost; empty if it does not.
func (l Limit) Idle(c result.Cell) string {
	if !l.IsChange() || l.Most != (c.Better == result.Higher) {
		return ""
	}
	better, meant := "more", ">= -10%"
	if !l.Most {
		better, meant = "less", "<= +10%"
	}
	return fmt.Sprintf("of %s %s is better, so that any cost keeps this limit; bound the other side, such as %s.%s.change %s", c.Metric, better, l.Mode, l.Workload, meant)
}

// about reports whether the limit is on a metric: time and change are of a workload's main one.
func (l Limit) about(metric string) bool {
	if l.Metric != limitTime && l.Metric != limitChange {
		return metric == l.Metric
	}
	m, known := result.MetricNamed(metric)
	return known && m.Primary
}

// IsTime and IsChange say what a limit is on, if not on a metric's own value.
func (l Limit) IsTime() bool { return l.Metric == limitTime }

// IsChange is described at IsTime.
func (l Limit) IsChange() bool { return l.Metric == limitChange }
