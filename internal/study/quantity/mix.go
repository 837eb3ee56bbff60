package quantity

import (
	"fmt"
	"strconv"
	"strings"
)

// The bounds of a mix of sizes: how many there are, and the sum of their weights.
const (
	mostMixed  = 8
	mostWeight = 1000
)

// Mixed is one size of a mix: so many of each sum of weights have it.
type Mixed struct {
	Weight int
	Size   Size
}

// ParseMix reads a mix of sizes in the order that they are written in, such as 9x1KiB,1x1MiB.
func ParseMix(text string) ([]Mixed, error) {
	var all []Mixed
	sum := 0
	for one := range strings.SplitSeq(text, ",") {
		weight, bytes, _ := strings.Cut(one, "x")
		var m Mixed
		var err error
		if m.Weight, err = strconv.Atoi(weight); err != nil || m.Weight < 1 || m.Weight > mostWeight {
			return nil, fmt.Errorf("%q has no weight from 1 to %d", one, mostWeight)
		}
		if err := m.Size.UnmarshalText([]byte(bytes)); err != nil || m.Size < 1 || m.Size > 16<<20 {
			return nil, fmt.Errorf("%q has no size from 1 to 16MiB", one)
		}
		all, sum = append(all, m), sum+m.Weight
	}
	if len(all) < 2 || len(all) > mostMixed || sum > mostWeight {
		return nil, fmt.Errorf("it has %d sizes with weights of %d in total; want 2 to %d sizes and at most %d", len(all), sum, mostMixed, mostWeight)
	}
	return all, nil
}
