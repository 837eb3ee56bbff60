// Package published reads what studies say of publications: values with their spread, and the conditions under which a
// claim holds.
package published

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/study/quantity"
	"tare/internal/study/suggest"
	"tare/internal/unit"
)

// ClauseKind says what a clause of a [Condition] demands.
type ClauseKind string

// The kinds. The first three are about a ratio, and HoldsOrder about several values.
const (
	HoldsSame   ClauseKind = "same"   // equal within the study's margin
	HoldsLower  ClauseKind = "lower"  // the first value is lower than the second
	HoldsHigher ClauseKind = "higher" // the first value is higher than the second
	HoldsOrder  ClauseKind = "order"  // each is better than the next
	HoldsWithin ClauseKind = "within" // between bounds
)

// Condition is the condition under which a claim holds: that of all its clauses.
type Condition struct{ Clauses []Clause }

// Clause is one part of a condition. Above and Below are the bounds of a [HoldsWithin] clause, nil
// where there is none. From and To bound the levels of a sweep that it is about, nil where there is
// no bound.
type Clause struct {
	Kind         ClauseKind
	Above, Below *Quantity
	From, To     *Level
}

// Quantity is a number with its unit as written: none, "%", "bit/s" or "s". The Value of a percentage
// is a share, 0.01 for 1 %.
type Quantity struct {
	Value float64
	Unit  string
	Text  string
}

// ParseCondition reads the holds_if of a claim: same, lower, higher, order, below V, above V or
// between V and W, each optionally with from L, to L or both after it; several are joined with
// "and". V and W are numbers, percentages (1%), rates (700Mbit/s) or durations (5ms), and L is an
// offered rate or a number of flows or streams. An order is alone.
func ParseCondition(text string) (Condition, error) {
	p := conditionParser{words: strings.Fields(text)}
	var c Condition
	for {
		clause, err := p.clause()
		if err != nil {
			return Condition{}, err
		}
		c.Clauses = append(c.Clauses, clause)
		if len(p.words) == 0 {
			break
		}
		if word := p.next(); word != "and" {
			return Condition{}, fmt.Errorf("%s after %q; want \"and\" with another clause, or nothing", suggest.Quote(word), clause)
		}
	}
	if len(c.Clauses) > 1 && slices.ContainsFunc(c.Clauses, func(c Clause) bool { return c.Kind == HoldsOrder }) {
		return Condition{}, errors.New("order cannot have another clause beside it")
	}
	return c, nil
}

type conditionParser struct{ words []string }

// next removes the first word and returns it, empty if there is none.
func (p *conditionParser) next() string {
	if len(p.words) == 0 {
		return ""
	}
	word := p.words[0]
	p.words = p.words[1:]
	return word
}

// skip removes the first word if it is the given one.
func (p *conditionParser) skip(word string) bool {
	if len(p.words) == 0 || p.words[0] != word {
		return false
	}
	p.words = p.words[1:]
	return true
}

func (p *conditionParser) clause() (c Clause, err error) {
	c.Kind = HoldsWithin
	switch word := p.next(); word {
	case "same", "lower", "higher", "order":
		c.Kind = ClauseKind(word)
	case "below":
		c.Below, err = p.quantity(word)
	case "above":
		c.Above, err = p.quantity(word)
	case "between":
		c.Above, c.Below, err = p.between()
	default:
		return c, fmt.Errorf("%s is not a condition; want same, lower, higher, order, below V, above V, or between V and W", suggest.Quote(word))
	}
	if err == nil && c.Below != nil && c.Below.Value == 0 {
		err = errors.New("no value is below 0")
	}
	if err == nil && p.skip("from") {
		c.From, err = p.level("from")
	}
	if err == nil && p.skip("to") {
		c.To, err = p.level("to")
	}
	if err == nil && c.From != nil && c.To != nil && c.From.Value > c.To.Value {
		err = fmt.Errorf("from %s to %s has no level; want the lower one first", c.From, c.To)
	}
	return c, err
}

func (p *conditionParser) between() (above, below *Quantity, err error) {
	if above, err = p.quantity("between"); err != nil {
		return nil, nil, err
	}
	if !p.skip("and") {
		return nil, nil, fmt.Errorf("between %s without a second value; want between V and W", above.Text)
	}
	if below, err = p.quantity("and"); err != nil {
		return nil, nil, err
	}
	switch {
	case above.Unit != below.Unit:
		return nil, nil, fmt.Errorf("between %s and %s has two units", above.Text, below.Text)
	case above.Value >= below.Value:
		return nil, nil, fmt.Errorf("nothing is between %s and %s; want the lower value first", above.Text, below.Text)
	}
	return above, below, nil
}

func (p *conditionParser) quantity(after string) (*Quantity, error) {
	word := p.next()
	q, ok := parseQuantity(word)
	if !ok {
		return nil, fmt.Errorf("%s after %q is not a value; want a number, a percentage such as 1%%, a rate such as 700Mbit/s, or a duration such as 5ms", suggest.Quote(word), after)
	}
	return &q, nil
}

// parseQuantity reads a number, a percentage, a rate or a duration.
func parseQuantity(text string) (Quantity, bool) {
	q := Quantity{Text: text}
	if number, percent := strings.CutSuffix(text, "%"); quantity.Matches(numberPattern, number) {
		x, err := strconv.ParseFloat(number, 64)
		if q.Value = x; percent {
			q.Value, q.Unit = x/100, "%"
		}
		return q, err == nil
	}
	if r, err := quantity.ParseRate(text); err == nil {
		q.Value, q.Unit = float64(r), "bit/s"
		return q, true
	}
	if d, err := quantity.ParseDuration(text); err == nil {
		q.Value, q.Unit = d.Std().Seconds(), "s"
		return q, true
	}
	return quantityIn(text)
}

// quantityIn reads a number with a unit of a rate or a time as tools print it: 940Mbits/sec, 51usec.
func quantityIn(text string) (Quantity, bool) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789."))
	u, known := unit.Parse(text[digits:])
	if to, ok := u.To(unit.Bits); ok {
		u = to
	}
	v, err := strconv.ParseFloat(text[:digits], 64)
	return Quantity{Value: u.In(v), Unit: u.Base, Text: text}, known && err == nil && quantity.Matches(numberPattern, text[:digits]) && len(text) <= quantity.MaxText && (u.Base == unit.Bits || u.Base == unit.Second)
}

const numberPattern = `^[0-9]+(\.[0-9]+)?$`

func (p *conditionParser) level(after string) (*Level, error) {
	word := p.next()
	digits, key := word, ""
	for _, of := range []string{"flows", "streams"} {
		if number, is := strings.CutSuffix(word, of); is {
			digits, key = number, of
		}
	}
	if quantity.Matches(`^[0-9]{1,12}$`, digits) {
		n, err := strconv.ParseFloat(digits, 64)
		for _, of := range []string{"flows", "streams"} {
			if key == "" && p.skip(of) {
				key = of
			}
		}
		return &Level{key, n}, err
	}
	if r, err := quantity.ParseRate(word); err == nil {
		return &Level{"rates", float64(r)}, nil
	}
	return nil, fmt.Errorf("%s after %q is not a level of a sweep; want a rate such as 700Mbit/s, or a number of flows or streams such as 16", suggest.Quote(word), after)
}

// String writes the condition as a study does.
func (c Condition) String() string {
	parts := make([]string, len(c.Clauses))
	for i, clause := range c.Clauses {
		parts[i] = clause.String()
	}
	return strings.Join(parts, " and ")
}

// String writes the clause as a study does.
func (c Clause) String() string {
	text := string(c.Kind)
	switch {
	case c.Kind != HoldsWithin:
	case c.Above == nil:
		text = "below " + c.Below.Text
	case c.Below == nil:
		text = "above " + c.Above.Text
	default:
		text = "between " + c.Above.Text + " and " + c.Below.Text
	}
	if c.From != nil {
		text += " from " + c.From.String()
	}
	if c.To != nil {
		text += " to " + c.To.String()
	}
	return text
}

// Region is the open interval in which the ratio, or the value, is if the clause holds; without a
// bound it is infinite. The margin is that of the study. It is not defined for [HoldsOrder].
func (c Clause) Region(margin float64) (lo, hi float64) {
	lo, hi = math.Inf(-1), math.Inf(1)
	switch c.Kind {
	case HoldsSame:
		return 1 / (1 + margin), 1 + margin
	case HoldsLower:
		return lo, 1
	case HoldsHigher:
		return 1, hi
	}
	// No value is negative: between 0 and W is below W.
	if c.Above != nil && (c.Below == nil || c.Above.Value > 0) {
		lo = c.Above.Value
	}
	if c.Below != nil {
		hi = c.Below.Value
	}
	return lo, hi
}

// Bounded reports whether a clause names levels.
func (c Clause) Bounded() bool { return c.From != nil || c.To != nil }

// Covers reports whether the clause is about a level of a sweep.
func (c Clause) Covers(l Level) bool {
	return (c.From == nil || c.From.sort(l) && l.Value >= c.From.Value) && (c.To == nil || c.To.sort(l) && l.Value <= c.To.Value)
}

// Region is the intersection of the regions of the clauses that are about a level; nil stands for a
// workload without a sweep. ok is false if none is.
func (c Condition) Region(at *Level, margin float64) (lo, hi float64, ok bool) {
	lo, hi = math.Inf(-1), math.Inf(1)
	for _, clause := range c.Clauses {
		if at != nil && !clause.Covers(*at) || at == nil && clause.Bounded() {
			continue
		}
		from, to := clause.Region(margin)
		lo, hi, ok = max(lo, from), min(hi, to), true
	}
	return lo, hi, ok
}

// Ordered reports whether the condition is about an order.
func (c Condition) Ordered() bool { return len(c.Clauses) > 0 && c.Clauses[0].Kind == HoldsOrder }
