package study

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Portion is a share, 0 to 1. Its zero value means that the key is absent; an
// explicit 0 is NoPortion. Read it with Float.
type Portion float64

// NoPortion is a share of 0 that somebody asked for.
const NoPortion Portion = -1

// Float gives p as a number; NoPortion is 0.
func (p Portion) Float() float64 { return max(0, float64(p)) }

// String writes p as a plain number.
func (p Portion) String() string { return strconv.FormatFloat(p.Float(), 'f', -1, 64) }

// MarshalYAML writes p as a number.
func (p Portion) MarshalYAML() (any, error) { return p.Float(), nil }

// MarshalJSON writes p as a number.
func (p Portion) MarshalJSON() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a plain number of 0 or more.
func (p *Portion) UnmarshalText(text []byte) error {
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(x >= 0 && x <= 1) {
		return fmt.Errorf("%s is not a share; write a number from 0 to 1, such as 0.5", quote(string(text)))
	}
	*p = Portion(x)
	if x == 0 {
		*p = NoPortion
	}
	return nil
}

// LossGoals are loss ratios, ascending, each of which a rate is searched for.
type LossGoals []float64

// String writes them as a list.
func (g LossGoals) String() string {
	var all []string
	for _, x := range g {
		all = append(all, strconv.FormatFloat(x, 'f', -1, 64))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// Rates are offered loads of payload, ascending. A file may give the first and the
// last of a range and how many there are to be, evenly spaced.
type Rates []Rate

// String writes them as a list.
func (r Rates) String() string {
	var all []string
	for _, x := range r {
		all = append(all, x.String())
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// rateRange is a range of rates as a file has it.
type rateRange struct {
	From  Rate `yaml:"from" json:"from" jsonschema:"the first rate"`
	To    Rate `yaml:"to" json:"to" jsonschema:"the last rate"`
	Steps int  `yaml:"steps" json:"steps" jsonschema:"how many rates, both ends included"`
}

// list spaces the rates evenly and rounds them to four digits, so that they can be
// read.
func (r rateRange) list() Rates {
	var all Rates
	for i := range r.Steps {
		x := r.From + Rate(float64(r.To-r.From)*float64(i)/float64(r.Steps-1)+0.5)
		if i == r.Steps-1 {
			x = r.To
		} else if i > 0 {
			unit := Rate(1)
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

// rates reads the loads of a sweep: a list, or the range of one.
func (r *reader) rates(n *yaml.Node, f reflect.Value, key, path string) {
	if n.Kind != yaml.MappingNode {
		r.scalars(n, f, key, path)
		return
	}
	var in rateRange
	before := len(r.errs)
	r.mapping(n, reflect.ValueOf(&in).Elem(), path+".", " in "+key, keys(reflect.TypeFor[rateRange]()))
	for _, f := range fields(reflect.TypeFor[rateRange]()) {
		v := reflect.ValueOf(in).Field(f.index)
		switch line, said := r.src.lines[path+"."+f.key]; {
		case r.src.failed[path+"."+f.key]:
		case !said:
			r.fail(r.src.lines[path], "%s without its %s; want a mapping with from, to and steps", key, f.key)
		default:
			if text := check(f.key, v); text != "" {
				r.fail(line, "%s of %s", text, key)
			}
		}
	}
	if len(r.errs) == before && in.From >= in.To {
		r.fail(r.src.lines[path+".from"], "from is %s and to %s in %s; want from below to", in.From, in.To, key)
	}
	if len(r.errs) > before {
		r.src.failed[path] = true
		return
	}
	f.Set(reflect.ValueOf(in.list()))
}

// scalars reads a list of plain values.
func (r *reader) scalars(n *yaml.Node, f reflect.Value, key, path string) {
	wanted := want(key, f.Type())
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.wrong(n, key, path, wanted)
		return
	}
	for i, item := range n.Content {
		v, at := reflect.New(f.Type().Elem()).Elem(), fmt.Sprintf("%s[%d]", path, i)
		r.src.lines[at] = item.Line
		if item = target(item); item.Kind != yaml.ScalarNode || !r.convert(item, v) {
			r.src.failed[path] = true
			r.fail(r.src.lines[at], "%s holds %s; want %s", key, describe(item), wanted)
			continue
		}
		f.Set(reflect.Append(f, v))
	}
}

// plainList says whether a type is a list of plain values.
func plainList(t reflect.Type) bool {
	return t == reflect.TypeFor[LossGoals]() || t == reflect.TypeFor[Rates]()
}

// search checks what the keys of a rate search and of a sweep say.
func (v *validator) search(prefix string, w Workload) {
	fail := func(key, format string, args ...any) {
		if v.readable(prefix + key) {
			v.add(prefix+key, format, args...)
		}
	}
	v.ascending(prefix+"loss_goals", "loss_goals", reflect.ValueOf(w.LossGoals))
	v.ascending(prefix+"rates", "rates", reflect.ValueOf(w.Rates))
	if w.MinRate > 0 && w.MaxRate > 0 && w.MinRate >= w.MaxRate {
		fail("max_rate", "max_rate is %s, not above the min_rate of %s", w.MaxRate, w.MinRate)
	}
	exceed := w.ExceedRatio
	switch w.Goal {
	case Strict, RFC2544:
		if exceed > 0 {
			fail("exceed_ratio", "exceed_ratio is %s, but goal %s lets not one step exceed the loss goal; leave one of them out", exceed, w.Goal)
		}
		exceed = NoPortion
	case Beside:
		if exceed == NoPortion {
			fail("exceed_ratio", "exceed_ratio is 0, which goal %s searches for in any case; want one above 0, or goal strict", w.Goal)
		}
	}
	least := 3
	if exceed == NoPortion {
		least = 1
	}
	if w.Step > 0 && w.StepSum > 0 && w.StepSum < Duration(least)*w.Step {
		fail("step_sum", "step_sum is %s, less than %s of %s; want at least %s", w.StepSum, times(least), w.Step, Duration(least)*w.Step)
	}
	if w.MaxSearch > 0 && w.StepSum > 0 && w.MaxSearch < 2*w.StepSum {
		fail("max_search", "max_search is %s, in which no search ends: the two bounds alone take up to %s; want more", w.MaxSearch, 2*w.StepSum)
	}
}

func times(n int) string {
	if n == 1 {
		return "one step"
	}
	return strconv.Itoa(n) + " steps"
}

// ascending checks each value of a list by the rule of its key, and that each is
// above the one before it.
func (v *validator) ascending(path, key string, list reflect.Value) {
	if !v.readable(path) {
		return
	}
	for i := range list.Len() {
		at, x := fmt.Sprintf("%s[%d]", path, i), list.Index(i)
		if v.src == nil || v.src.lines[at] == 0 {
			at = path
		}
		if text := check(key, x); text != "" {
			v.add(at, "%s", strings.Replace(text, key+" is", key+" holds", 1))
			return
		}
		if i > 0 && magnitude(x) <= magnitude(list.Index(i-1)) {
			v.add(at, "%s holds %v behind %v; want them ascending, each once", key, x.Interface(), list.Index(i-1).Interface())
			return
		}
	}
}

// searchRule is the rule of a key of a rate search or a sweep.
func searchRule(key string) rule {
	switch key {
	case "loss_goals":
		return rule{min: 0, max: 0.5}
	case "goal":
		return rule{enum: Goals()}
	case "exceed_ratio":
		return rule{min: 0, max: 0.9}
	case "step":
		return rule{min: 100e6, max: 600e9}
	case "step_sum":
		return rule{min: 100e6, max: 3600e9}
	case "precision":
		return rule{min: 0.001, max: 0.2}
	case "pause":
		return rule{min: 0, max: 60e9}
	case "max_search":
		return rule{min: 1e9, max: 24 * 3600e9}
	case "min_rate", "max_rate", "rates", "from", "to":
		return rule{min: 10e3, max: 400e9}
	case "steps":
		return rule{min: 2, max: 100}
	}
	return rule{}
}

// The goals of a rate search, beside its loss goals.
const (
	Median  = "median"  // a rate at which not more than exceed_ratio of the steps' time exceeds the loss goal
	Strict  = "strict"  // not one step does
	Beside  = "both"    // both kinds of rates
	RFC2544 = "rfc2544" // not one of steps of a minute does
)

// Goals lists them.
func Goals() []string { return []string{Median, Strict, Beside, RFC2544} }

// layered lays defaults over others: what over sets takes their place.
func layered(under, over Workload) Workload {
	to, from := reflect.ValueOf(&under).Elem(), reflect.ValueOf(over)
	for i := range from.NumField() {
		if !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return under
}

// ownLists gives a workload lists of its own.
func ownLists(w *Workload) {
	w.LossGoals, w.Rates = slices.Clone(w.LossGoals), slices.Clone(w.Rates)
}

// fit makes the defaults of a search keep to what the study sets of it: in
// proportion, so that each search remains one that can end.
func fit(def, w Workload) Workload {
	scale := func(d Duration, by, of Duration) Duration { return Duration(float64(d) * float64(by) / float64(of)) }
	switch {
	case def.Step == 0 || def.StepSum == 0: // no search
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
		def.MinRate = max(10e3, min(def.MinRate, w.MaxRate/100))
	}
	if w.MinRate > 0 && w.MaxRate == 0 {
		def.MaxRate = min(400e9, max(def.MaxRate, 100*w.MinRate))
	}
	return def
}
