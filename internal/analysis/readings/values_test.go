package readings_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/analysis/readings"
	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Ratios and cells of a table of values are those of the trials that it was made of.
func TestValuesJudgeAsTrials(t *testing.T) {
	in := verdict.Input{Workloads: []string{"w0", "w1"},
		Modes: []result.Mode{{ID: "m0", Status: result.ModeMeasured}, {ID: "m1", Status: result.ModeMeasured, Baseline: "m0"}, {ID: "m2", Status: result.ModeFailed}}}
	for seed := range uint64(30) {
		trials := readings.Jumbled(rand.New(rand.NewPCG(seed, 0)))
		var all readings.Table
		for _, tr := range trials {
			all.Add(tr)
		}
		for last := range 6 {
			in.Trials, in.Values = slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return t.Block > last }), nil
			want := verdict.Ratios(in)
			in.Trials, in.Values = nil, all.Until(last)
			must.EqualFor(t, fmt.Sprintf("seed %d, block %d: ratios of trials and values", seed, last), want, verdict.Ratios(in))
		}
		in.Trials, in.Values = nil, &all
		fromValues, _ := verdict.Judge(in)
		in.Trials, in.Values = trials, nil
		fromTrials, _ := verdict.Judge(in)
		must.EqualFor(t, fmt.Sprintf("seed %d: cells of trials and values", seed), fromTrials, fromValues)
	}
}
