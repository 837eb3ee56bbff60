// Package blocks makes trials of modes in blocks, for tests of what judges them.
package blocks

import (
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/result"
)

// HostAnd are the modes host and veth, which is compared with it.
func HostAnd() []result.Mode {
	return []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "veth", Status: result.ModeMeasured, Baseline: "host"}}
}

// Row is an ok trial of workload stream with one metric.
func Row(block int, mode, metric string, value float64) result.Trial {
	return result.Trial{Block: block, Mode: mode, Workload: "stream", Status: result.TrialOK, Metrics: map[string]float64{metric: value}}
}

// Rows are trials of a mode in blocks 1, 2, ...
func Rows(mode, metric string, values ...float64) []result.Trial {
	var out []result.Trial
	for i, v := range values {
		out = append(out, Row(i+1, mode, metric, v))
	}
	return out
}

// Join are all of some trials.
func Join(parts ...[]result.Trial) []result.Trial {
	var out []result.Trial
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// Approx lets numbers differ by their tenth of a thousandth.
func Approx() cmp.Option { return cmpopts.EquateApprox(1e-4, 0) }
