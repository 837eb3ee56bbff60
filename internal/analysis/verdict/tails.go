package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/stats"
)

// TailRate is the rate of the tail pass of a workload in requests per second: half of the mean transaction rate of the slowest
// measured mode, rounded down to three digits; 0 if no mode has a value.
func TailRate(modes []result.Mode, values *readings.Table, workload string) float64 {
	tab := values.Of(modes, []string{workload})
	least := math.Inf(1)
	for _, m := range modes {
		own := readings.Plain(tab.Values(m.ID, workload, "transaction_rate"))
		if reached := readings.Mean(own); reached > 0 {
			least = min(least, reached)
		}
	}
	return PassRate(least)
}

// The reasons why a percentile beyond the 99th has no ratio.
const (
	noTails   = "not judged: it needs the tail pass (--tails)"
	noTailsOf = "not judged: datagrams have no tail pass"
)

// WithoutTails removes the ratio and the verdict of a percentile beyond the 99th that no trial of the tail pass shows, and says
// what is missing; runs of earlier versions have them. Any other cell is returned as it is.
func WithoutTails(c result.Cell) result.Cell {
	if !BeyondP99(c.Metric) || c.Tail != nil || c.Baseline == "" {
		return c
	}
	c.Unjudged = noTailsOf
	if inTails(c.Metric) {
		c.Unjudged = noTails
	}
	c.Judgement, c.Added, c.Unpaired = result.Judgement{Indicative: c.Indicative}, nil, false
	return c
}

// BeyondP99 reports whether a metric is a percentile beyond the 99th.
func BeyondP99(metric string) bool {
	_, beyond := result.BeyondP99(metric)
	return beyond
}

// inTails reports whether the tail pass measures what a metric is of: it has round trips only.
func inTails(metric string) bool { return strings.HasPrefix(metric, "rtt_") }

// tailTrials are the valid trials of the tail pass of a mode with a workload.
func tailTrials(trials []result.Trial, mode, workload string) []*result.Trial {
	var out []*result.Trial
	for i := range trials {
		if t := &trials[i]; t.TailRate > 0 && t.Mode == mode && t.Workload == workload && t.Status == result.TrialOK {
			out = append(out, t)
		}
	}
	return out
}

// tailsOf are the durations of trials of the tail pass by set-up, or by trial if all are of one or it is
// unknown, and what they add up to. An exchange without an answer is longer than any other. late says that the generator left out
// requests, or that trials differ in their rate.
func tailsOf(trials []*result.Trial) (clusters []stats.Histogram, rate float64, setups int, late bool) {
	own := map[int]int{}
	for _, t := range trials {
		own[t.Setup]++
	}
	type bounds map[float64]int64
	sums, index := []bounds{}, map[int]int{}
	for n, t := range trials {
		i := slices.IndexFunc(t.Distributions, func(d result.Distribution) bool { return d.Of == "rtt" && d.Count() > 0 })
		if i < 0 {
			continue
		}
		key := t.Setup
		if len(own) < 2 || own[0] > 0 {
			key = -1 - n
		}
		at, known := index[key]
		if !known {
			at = len(clusters)
			index[key], clusters, sums = at, append(clusters, stats.Histogram{}), append(sums, bounds{})
		}
		d, c := t.Distributions[i], &clusters[at]
		for j, u := range d.Upper {
			sums[at][u] += d.Counts[j]
		}
		c.Resolution = max(c.Resolution, d.Resolution)
		if lost := t.Metrics["loss_ratio"]; lost > 0 && lost < 1 {
			c.Beyond += int64(math.Round(d.Count() * lost / (1 - lost)))
		}
		late = late || t.GeneratorLimited != nil && *t.GeneratorLimited > 0 || rate > 0 && t.TailRate != rate
		rate = t.TailRate
	}
	for i := range clusters {
		for u := range sums[i] {
			clusters[i].Upper = append(clusters[i].Upper, u)
		}
		slices.Sort(clusters[i].Upper)
		for _, u := range clusters[i].Upper {
			clusters[i].Counts = append(clusters[i].Counts, sums[i][u])
		}
	}
	if len(own) == 1 && own[0] == 0 {
		return clusters, rate, 0, late
	}
	return clusters, rate, len(own), late
}

// judgeTails replaces the cells of a percentile beyond the 99th. Without trials of the tail pass they keep their value, which is of
// other trials, and say what is missing; with them they are the quantile of all durations together. The ratio has the
// interval of [stats.RatioOfTails]. A difference is claimed at 5 % over all modes together (Bonferroni), and
// equivalence by the interval at 95 %.
func (f *Family) judgeTails(in Input, workload string, q float64) {
	tails := map[string]stats.Tail{}
	limits := map[string]stats.Tail{} // at the corrected confidence
	late := map[string]bool{}
	var cells []result.Cell
	compared := 0
	for _, m := range in.Modes {
		if m.Baseline != "" && !m.Control {
			compared++
		}
	}
	for _, m := range in.Modes {
		if !inTails(f.metric.Name) {
			break
		}
		trials := tailTrials(in.Trials, m.ID, workload)
		clusters, rate, setups, isLate := tailsOf(trials)
		t, ok := stats.TailQuantile(clusters, q, readings.Confidence)
		if m.Status != result.ModeMeasured || !ok {
			continue
		}
		tails[m.ID], late[m.ID] = t, isLate
		limits[m.ID], _ = stats.TailQuantile(clusters, q, 1-level/float64(max(1, compared)))
		c := result.Cell{
			Mode: m.ID, Workload: workload, Metric: f.metric.Name, Unit: f.metric.Unit, Better: f.metric.Better, N: len(trials), Value: &t.Value, AtLeast: isLate,
			Baseline: m.Baseline, Judgement: result.Judgement{Indicative: f.rule.Indicative}, Tail: &result.Tail{Rate: rate, Exchanges: t.N, Above: t.Above},
		}
		if setups > 0 && setups < len(trials) {
			c.Setups = setups
		}
		if t.HasInterval {
			c.CI = &result.Interval{t.Lo, t.Hi}
		}
		cells = append(cells, c)
	}
	if len(cells) == 0 {
		tried := inTails(f.metric.Name) && slices.ContainsFunc(in.Trials, func(t result.Trial) bool { return t.TailRate > 0 && t.Workload == workload })
		for i := range f.cells {
			f.cells[i] = WithoutTails(f.cells[i])
			if f.cells[i].Unjudged != "" && tried {
				f.cells[i].Unjudged = "not judged: no trial of the tail pass is valid"
			}
		}
		return
	}
	for i := range cells {
		c := &cells[i]
		if c.Baseline == "" {
			continue
		}
		base, known := tails[c.Baseline]
		ratio, lo, hi, ok := stats.RatioOfTails(tails[c.Mode], base)
		switch {
		case !known:
			c.Unjudged = "not judged: " + c.Baseline + " has no valid trial of the tail pass"
			continue
		case !ok:
			c.Unjudged = fmt.Sprintf("not judged: too few exchanges beyond the percentile to know its limits (%d of %d, in %s %d of %d)",
				c.Tail.Above, c.Tail.Exchanges, c.Baseline, base.Above, base.N)
			continue
		case late[c.Baseline]:
			c.Unjudged = "not judged: the generator left out requests of " + c.Baseline
			continue
		}
		_, low, high, strict := stats.RatioOfTails(limits[c.Mode], limits[c.Baseline])
		c.Ratio, c.RatioCI, c.Margin = &ratio, &result.Interval{lo, hi}, f.rule.Margin
		c.Verdict = tailVerdict(*c, strict && (low > 1 || high < 1))
		if f.rule.Noisy != "" || late[c.Mode] && c.Verdict != result.Worse {
			c.Verdict = result.CannotTell
		}
	}
	f.cells, f.control, f.values, f.bands = cells, make([]bool, len(cells)), nil, make([]*levels, len(cells))
}

// tailVerdict is the verdict of a ratio of times by its interval, with or without a difference.
func tailVerdict(c result.Cell, differs bool) result.Verdict {
	within := c.RatioCI[0] >= 1/(1+c.Margin) && c.RatioCI[1] <= 1+c.Margin
	switch {
	case differs && within:
		return result.Small
	case differs && *c.Ratio > 1:
		return result.Worse
	case differs:
		return result.Better
	case within:
		return result.Same
	}
	return result.CannotTell
}

// PassRate is half of a rate in bit/s, rounded down to three digits; 0 for one that
// is unknown.
func PassRate(of float64) float64 {
	if !(of >= 2) || math.IsInf(of, 0) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(of/2))-2)
	if unit < 1 {
		return math.Floor(of / 2)
	}
	return math.Floor(of/2/unit) * unit
}
