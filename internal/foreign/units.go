package foreign

import (
	"strings"

	"tare/internal/result"
)

// factor converts a value to its base unit. It is a quotient, so that 3 ms is exactly 0.003 and not
// a neighbouring float.
type factor struct{ times, over float64 }

func (f factor) of(v float64) float64 { return v * f.times / f.over }

// baseUnit converts common units of rates, times and shares to tare's base units, and returns which
// direction is better if the unit implies it. Any other unit stays as it is.
func baseUnit(unit string) (base string, to factor, better result.Direction) {
	same := factor{1, 1}
	switch unit {
	case "bit/s", "bps", "b/s":
		return "bit/s", same, result.Higher
	case "kbit/s", "Kbit/s", "kbps", "Kbps", "kb/s", "Kb/s":
		return "bit/s", factor{1e3, 1}, result.Higher
	case "Mbit/s", "Mbps", "Mb/s":
		return "bit/s", factor{1e6, 1}, result.Higher
	case "Gbit/s", "Gbps", "Gb/s":
		return "bit/s", factor{1e9, 1}, result.Higher
	case "MB/s":
		return "B/s", factor{1e6, 1}, result.Higher
	case "s", "sec", "seconds":
		return "s", same, result.Lower
	case "ms":
		return "s", factor{1, 1e3}, result.Lower
	case "us", "µs", "μs": // micro sign, Greek letter
		return "s", factor{1, 1e6}, result.Lower
	case "ns":
		return "s", factor{1, 1e9}, result.Lower
	case "%", "percent":
		return "ratio", factor{1, 100}, ""
	case "ratio":
		return "ratio", same, ""
	case "1/s", "/s", "Hz", "tps", "qps", "rps", "pps":
		return "1/s", same, result.Higher
	case "B/op", "allocs/op":
		return unit, same, result.Lower
	}
	if strings.HasSuffix(unit, "/s") {
		return unit, same, result.Higher
	}
	return unit, same, ""
}

// benchUnit returns a benchmark's unit as benchstat shows it: sec for ns, B/s for MB/s. name is the
// name of the metric.
func benchUnit(unit string) (name, base string, to factor, better result.Direction) {
	switch {
	case unit == "ns/op":
		return "sec/op", "s", factor{1, 1e9}, result.Lower
	case unit == "MB/s":
		return "B/s", "B/s", factor{1e6, 1}, result.Higher
	case strings.HasSuffix(unit, "-ns"):
		return strings.TrimSuffix(unit, "ns") + "sec", "s", factor{1, 1e9}, result.Lower
	case strings.HasPrefix(unit, "ns/"):
		return "sec" + strings.TrimPrefix(unit, "ns"), "s", factor{1, 1e9}, result.Lower
	}
	base, to, better = baseUnit(unit)
	return unit, base, to, better
}
