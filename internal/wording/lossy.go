package wording

import (
	"fmt"
	"strings"

	"tare/internal/stats"
)

// Lossy describes in how many of n trials anything was lost, with the 95 % limits of the share
// of such trials by Clopper and Pearson: "0 of 21 trials lossy: < 13 % of trials", the
// one-sided limit, or "1 of 5 trials lossy (1-72 %)", both limits.
func Lossy(k, n int, things string) string {
	text := fmt.Sprintf("%d of %s lossy", k, Count(n, strings.TrimSuffix(things, "s"), things))
	if k == 0 {
		if hi, ok := stats.ClopperPearsonUpper(k, n, 0.95); ok {
			text += ": < " + Percent(hi) + " of " + things
		}
		return text
	}
	lo, hi, ok := stats.ClopperPearson(k, n, 0.95)
	if !ok {
		return text
	}
	return text + " (" + fixed(100*lo, 0) + "-" + fixed(100*hi, 0) + " %)"
}
