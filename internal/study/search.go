package study

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/study/quantity"
	"tare/internal/unit"
)

// RateRange is a range of rates, which a file may contain instead of a list.
type RateRange struct {
	From, To quantity.Rate
	Steps    int
}

// Fields declares the keys of a range and their rules.
func (r *RateRange) Fields() []Field {
	return []Field{
		required("from", rate(&r.From, leastSought), "the first rate"),
		required("to", rate(&r.To, leastSought), "the last rate"),
		required("steps", count(&r.Steps, 2, 100), "number of rates, the first and the last included"),
	}
}

// List returns evenly spaced rates, rounded to four digits for readability.
func (r RateRange) List() quantity.Rates {
	var all quantity.Rates
	for i := range r.Steps {
		x := r.From + quantity.Rate(float64(r.To-r.From)*float64(i)/float64(r.Steps-1)+0.5)
		if i == r.Steps-1 {
			x = r.To
		} else if i > 0 {
			unit := quantity.Rate(1)
			for x/unit >= 10000 {
				unit *= 10
			}
			x = (x + unit/2) / unit * unit
		}
		if len(all) == 0 || x > all[len(all)-1] {
			all = append(all, x)
		}
	}
	return all
}

// search checks the keys of a rate search and of a sweep.
func (v *validator) search(prefix string, w Workload) {
	fail := func(key, format string, args ...any) {
		if v.readable(prefix + key) {
			v.add(prefix+key, format, args...)
		}
	}
	v.ascending(prefix, "loss_goals", lossGoals(&w.LossGoals))
	v.ascending(prefix, "rates", ratesOf(&w.Rates))
	if w.MinRate > 0 && w.MaxRate > 0 && w.MinRate >= w.MaxRate {
		fail("max_rate", "max_rate is %s, not above the min_rate of %s", w.MaxRate, w.MinRate)
	}
	exceed := w.ExceedRatio
	switch w.Goal {
	case Strict, RFC2544:
		if exceed.Of > 0 {
			fail("exceed_ratio", "exceed_ratio is %s, but with goal %s no step may exceed the loss goal; remove one of them", exceed, w.Goal)
		}
		exceed = quantity.PortionOf(0)
	case Beside:
		if exceed == quantity.PortionOf(0) {
			fail("exceed_ratio", "exceed_ratio is 0, which goal %s always includes; want a value above 0, or goal strict", w.Goal)
		}
	}
	least := 3
	if exceed == quantity.PortionOf(0) {
		least = 1
	}
	if w.Step > 0 && w.StepSum > 0 && w.StepSum < quantity.Duration(least)*w.Step {
		fail("step_sum", "step_sum is %s, less than %s of %s; want at least %s", w.StepSum, unit.Count(least, "step", "steps"), w.Step, quantity.Duration(least)*w.Step)
	}
	if w.MaxSearch > 0 && w.StepSum > 0 && w.MaxSearch < 2*w.StepSum {
		fail("max_search", "max_search is %s, too short for a search: the two bounds alone take up to %s; want more", w.MaxSearch, 2*w.StepSum)
	}
}

// ascending checks each value of a list against its rule, and that each is above the
// previous one.
func (v *validator) ascending(prefix, key string, list Sequence) {
	path := prefix + key
	if !v.readable(path) {
		return
	}
	for i := range list.Len() {
		at, x := fmt.Sprintf("%s[%d]", path, i), list.At(i)
		if v.line(at) == 0 {
			at = path
		}
		if text := x.Check(key); text != "" {
			v.add(at, "%s", strings.Replace(text, key+" is", key+" holds", 1))
			return
		}
		if i > 0 && !above(x, list.At(i-1)) {
			v.add(at, "%s contains %v after %v; want ascending values without duplicates", key, x, list.At(i-1))
			return
		}
	}
}

// The lists of plain values.

func lossGoals(at *quantity.LossGoals) Sequence {
	return sequence[quantity.LossGoals, float64]{held[quantity.LossGoals]{at}, Rule{Max: 0.5}, fractions(), "a list of loss ratios of %s, such as [0, 0.01]"}
}

// RatesValue is a list of rates, which a file may give as a range.
type RatesValue struct{ Sequence }

func ratesOf(at *quantity.Rates) RatesValue {
	return RatesValue{sequence[quantity.Rates, quantity.Rate]{held[quantity.Rates]{at}, Rule{Min: leastSought, Max: highestRate}, rateForm(),
		"a list of rates, such as [100Mbit/s, 200Mbit/s], or a mapping with from, to and steps"}}
}

// Put sets the rates.
func (r RatesValue) Put(all quantity.Rates) {
	*r.Sequence.(sequence[quantity.Rates, quantity.Rate]).at = all
}

func portion(at *quantity.Portion, most float64) Plain {
	return plainOf(at, form[quantity.Portion]{
		unit: Unit{JSON: "number", want: "a number from %s"},
		read: spelt[quantity.Portion](WholeLiteral, FractionLiteral),
		size: func(p quantity.Portion) (float64, bool) { return p.Of, true }, native: func(p quantity.Portion) any { return p.Of },
	}, Rule{Max: most})
}

// The goals of a rate search, in addition to its loss goals.
const (
	Median  = "median"  // a rate at which at most exceed_ratio of the steps' time exceeds the loss goal
	Strict  = "strict"  // a rate at which no step does
	Beside  = "both"    // both kinds of rates
	RFC2544 = "rfc2544" // as strict, with steps of a minute
)

// Goals lists them.
func Goals() []string { return []string{Median, Strict, Beside, RFC2544} }

// layered merges defaults: values that over sets replace those of under.
func layered(under, over Workload) Workload {
	to := under.Fields()
	for i, f := range over.Fields() {
		if !f.Value.IsZero() {
			to[i].Value.Set(f.Value)
		}
	}
	return under
}

// ownLists copies the lists of a workload.
func ownLists(w *Workload) {
	w.LossGoals, w.Rates = slices.Clone(w.LossGoals), slices.Clone(w.Rates)
	w.StreamCounts, w.FlowCounts = slices.Clone(w.StreamCounts), slices.Clone(w.FlowCounts)
}

// fit scales the defaults of a search to the values that the study sets, so that each
// search can still end.
func fit(def, w Workload) Workload {
	scale := func(d quantity.Duration, by, of quantity.Duration) quantity.Duration {
		return quantity.Duration(float64(d) * float64(by) / float64(of))
	}
	switch {
	case def.Step == 0 || def.StepSum == 0: // not a search
		return def
	case w.Step > 0 && w.StepSum == 0:
		def.StepSum, def.MaxSearch = scale(def.StepSum, w.Step, def.Step), scale(def.MaxSearch, w.Step, def.Step)
	case w.StepSum > 0:
		def.MaxSearch = scale(def.MaxSearch, w.StepSum, def.StepSum)
		if w.Step == 0 && w.StepSum < def.StepSum {
			def.Step = scale(def.Step, w.StepSum, def.StepSum)
		}
	}
	if w.MaxRate > 0 && w.MinRate == 0 {
		def.MinRate = max(leastSought, min(def.MinRate, w.MaxRate/100))
	}
	if w.MinRate > 0 && w.MaxRate == 0 {
		def.MaxRate = min(highestRate, max(def.MaxRate, 100*w.MinRate))
	}
	return def
}
