package traffic

import (
	"math"
	"strconv"
	"strings"
)

// ThroughputMetric names the figure of a search at a loss goal: the goal in percent,
// and whether not one step may exceed it: throughput_0, throughput_0_5,
// throughput_1_strict.
func ThroughputMetric(loss float64, strict bool) string {
	percent := strconv.FormatFloat(math.Round(loss*1e8)/1e6, 'f', -1, 64)
	name := "throughput_" + strings.ReplaceAll(percent, ".", "_")
	if strict {
		name += "_strict"
	}
	return name
}
