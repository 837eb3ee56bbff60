package published

import (
	"fmt"
	"regexp"

	"tare/internal/study/suggest"
)

// Value is a published value with its spread, if it has one, in base units.
type Value struct {
	Value, Lo, Hi float64
	Unit          string // as that of a Quantity
	HasSpread     bool
}

// ParseValue reads a published value, such as 0.992, 745 Mbit/s or 0.992 (0.97-1.01). After a
// comma or semicolon, any text may follow.
func ParseValue(text string) (Value, error) {
	bad := fmt.Errorf("%s does not begin with a value; want such as 0.992, 745 Mbit/s, or 0.992 (0.97-1.01), and any text after a comma", suggest.Quote(text))
	const number, unit = `([0-9]+(?:\.[0-9]+)?)`, ` ?(%|[a-zA-Zµ][a-zA-Zµ_/]*)?`
	found := regexp.MustCompile(`^` + number + unit + `(?: \(` + number + unit + `(?:-| to | - )` + number + unit + `\))?(?:[,;] ?.*)?$`).FindStringSubmatch(text)
	if found == nil {
		return Value{}, bad
	}
	last := found[2]
	read := func(number, unit string) (Quantity, bool) {
		if unit == "" {
			unit = last
		}
		return parseQuantity(number + unit)
	}
	v, ok := read(found[1], found[2])
	if !ok {
		return Value{}, bad
	}
	out := Value{Value: v.Value, Unit: v.Unit}
	if found[3] == "" {
		return out, nil
	}
	if found[6] != "" {
		last = found[6]
	}
	lo, okLo := read(found[3], found[4])
	hi, okHi := read(found[5], found[6])
	if !okLo || !okHi || lo.Unit != v.Unit || hi.Unit != v.Unit {
		return Value{}, bad
	}
	if lo.Value > hi.Value {
		return Value{}, fmt.Errorf("the spread of %s has its higher limit first", suggest.Quote(text))
	}
	out.Lo, out.Hi, out.HasSpread = lo.Value, hi.Value, true
	return out, nil
}
