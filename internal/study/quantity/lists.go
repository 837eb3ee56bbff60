package quantity

import (
	"strconv"
	"strings"
)

// LossGoals are loss ratios in ascending order; a rate is searched for each.
type LossGoals []float64

// String writes them as a list.
func (g LossGoals) String() string {
	var all []string
	for _, x := range g {
		all = append(all, strconv.FormatFloat(x, 'f', -1, 64))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// Rates are offered payload loads in ascending order. A file may give the first and the
// last of a range and the number of evenly spaced values.
type Rates []Rate

// String writes them as a list.
func (r Rates) String() string {
	var all []string
	for _, x := range r {
		all = append(all, x.String())
	}
	return "[" + strings.Join(all, ", ") + "]"
}
