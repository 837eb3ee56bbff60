package method

import (
	"math"
	"slices"
	"testing"

	"tare/internal/result"
)

// Blocks on the same two set-ups are together; a block without both copies and a pilot are left out.
func TestBySetup(t *testing.T) {
	var trials []result.Trial
	add := func(mode string, block, setup int, rate float64) {
		trials = append(trials, result.Trial{Mode: mode, Workload: "tcp_rr", Block: block, Setup: setup, Status: result.TrialOK, Pilot: block == 0, Metrics: map[string]float64{"transaction_rate": rate}})
	}
	for block := range 6 {
		setup := 1 + max(0, block-1)/2
		add("host", block, setup, 100)
		if block != 5 {
			add(aaCopy, block, setup, 100*math.Exp(float64(block)))
		}
	}
	blocks, got := bySetup(trials, "host", "tcp_rr", "transaction_rate")
	if blocks != 4 || len(got) != 2 {
		t.Fatalf("%d blocks, set-ups %v", blocks, got)
	}
	var sums []float64
	for _, of := range got {
		sums = append(sums, math.Round(of[0]+of[1]))
	}
	slices.Sort(sums)
	if !slices.Equal(sums, []float64{3, 7}) {
		t.Errorf("log ratios by set-up %v, want those of blocks 1 and 2, and of 3 and 4", got)
	}
}
