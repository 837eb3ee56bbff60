package term

import (
	"math"
	"strings"
)

// sparkline draws the last n values as bars that start at 0 and are scaled to the highest
// value, so that a variation of a tenth looks flat.
func sparkline(values []float64, n int, ascii bool) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	if ascii {
		bars = []rune("_.:-=+*#")
	}
	values = values[max(0, len(values)-n):]
	top := 0.0
	for _, v := range values {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			top = max(top, v)
		}
	}
	var b strings.Builder
	for _, v := range values {
		at := 0
		if top > 0 && v > 0 {
			at = int(math.Ceil(min(v/top, 1)*float64(len(bars)))) - 1
		}
		b.WriteRune(bars[max(0, min(at, len(bars)-1))])
	}
	return b.String()
}
