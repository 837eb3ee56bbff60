package verdict

import (
	"fmt"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/blocks"
	"tare/internal/testkit/must"
)

// limit says of trials that the generator missed a share of its schedule.
func limit(share float64, trials []result.Trial) []result.Trial {
	for i := range trials {
		trials[i].GeneratorLimited = &share
	}
	return trials
}

// A rate that the generator limited is a lower bound: it does not show that two rates are
// the same, but that the same sender reached more on the other path.
func TestAtLeast(t *testing.T) {
	low, high := []float64{80, 81, 80}, []float64{125, 125, 124}
	for name, tt := range map[string]struct {
		mode, base  []result.Trial
		atLeast     bool
		baseAtLeast bool
		want        result.Verdict
	}{
		"none":                     {blocks.Rows("veth", "goodput", low...), blocks.Rows("host", "goodput", 100, 101, 99), false, false, result.Worse},
		"a few sends missed":       {limit(0.0005, blocks.Rows("veth", "goodput", low...)), limit(0, blocks.Rows("host", "goodput", 100, 101, 99)), false, false, result.Worse},
		"the mode, lower":          {limit(0.01, blocks.Rows("veth", "goodput", low...)), blocks.Rows("host", "goodput", 100, 101, 99), true, false, result.Worse},
		"the mode, higher":         {limit(0.01, blocks.Rows("veth", "goodput", high...)), blocks.Rows("host", "goodput", 100, 101, 99), true, false, result.Better},
		"the baseline, lower":      {blocks.Rows("veth", "goodput", low...), limit(0.01, blocks.Rows("host", "goodput", 100, 101, 99)), false, true, result.Worse},
		"the baseline, higher":     {blocks.Rows("veth", "goodput", high...), limit(0.01, blocks.Rows("host", "goodput", 100, 101, 99)), false, true, result.Better},
		"both, the mode lower":     {limit(0.01, blocks.Rows("veth", "goodput", low...)), limit(0.01, blocks.Rows("host", "goodput", 100, 101, 99)), true, true, result.Worse},
		"both, too noisy to tell":  {limit(0.01, blocks.Rows("veth", "goodput", 50, 130, 90)), limit(0.01, blocks.Rows("host", "goodput", 100, 101, 99)), true, true, result.CannotTell},
		"both, and they look same": {limit(0.01, blocks.Rows("veth", "goodput", 100, 101, 99)), limit(0.01, blocks.Rows("host", "goodput", 100, 101, 99)), true, true, result.CannotTell},
		"what is no rate":          {limit(0.01, blocks.Rows("veth", "rtt_p50", high...)), blocks.Rows("host", "rtt_p50", 100, 101, 99), false, false, result.Worse},
	} {
		t.Run(name, func(t *testing.T) {
			cells, _ := Cells(blocks.HostAnd(), []string{"stream"}, blocks.Join(tt.mode, tt.base), Rule{Margin: 0.05})
			must.Require(t, len(cells) == 2, "cells %+v", cells)
			if base, c := cells[0], cells[1]; base.AtLeast != tt.baseAtLeast || c.AtLeast != tt.atLeast || c.Verdict != tt.want {
				t.Errorf("baseline at least: %t; mode at least: %t, verdict %s; want %+v", base.AtLeast, c.AtLeast, c.Verdict, tt)
			}
			if c := cells[1]; c.Verdict == result.CannotTell && c.BlocksNeeded != nil {
				t.Errorf("%d more blocks would not tell more", *c.BlocksNeeded)
			}
		})
	}
}

// Notes of trials become one warning for each code, mode and workload.
func TestNotes(t *testing.T) {
	trials := blocks.Join(blocks.Rows("host", "goodput", 100, 101, 99), blocks.Rows("veth", "goodput", 99, 100, 101))
	trials[1].Notes = []result.Note{{Code: "buffer_full", Text: "it was full"}, {Code: "slow", Text: "it was slow"}, {Code: "slow", Text: "very slow"}}
	trials[2].Notes = []result.Note{{Code: "slow", Text: "slower"}}
	failed := blocks.Row(1, "veth", "goodput", 1)
	failed.Status, failed.Notes = result.TrialFailed, []result.Note{{Code: "slow", Text: "of no account"}}
	_, got := Cells(blocks.HostAnd(), []string{"stream"}, append(trials, failed), Rule{Margin: 0.05})
	want := []result.Warning{
		{Code: "buffer_full", Scope: "host stream", Text: "it was full (first of 1 in 3 trials)"},
		{Code: "slow", Scope: "host stream", Text: "it was slow (first of 2 in 3 trials)"},
	}
	must.Equal(t, want, got)
}

func TestAgreements(t *testing.T) {
	base := []float64{100, 110, 90, 100}
	second := func(trials []result.Trial) []result.Trial { return of("stream.iperf3", trials) }
	// Both baselines waver Alike: what is compared is the cost.
	common := blocks.Join(blocks.Rows("host", "goodput", base...), second(blocks.Rows("host", "goodput", 50, 55, 45, 50)), blocks.Rows("veth", "goodput", 80, 88, 72, 80.1))
	verified := []Verified{{"stream", "stream.iperf3", "iperf3"}}
	for name, tt := range map[string]struct {
		twin     []float64
		want     result.Agree
		n        int
		warnings int
	}{
		"they agree":       {[]float64{40, 44, 36, 40.2}, result.AgreeYes, 4, 0},
		"they do not":      {[]float64{30, 33, 27, 30.1}, result.AgreeNo, 4, 1},
		"too far apart":    {[]float64{20, 60, 33, 45}, result.AgreeCannotTell, 4, 0},
		"one block only":   {[]float64{40}, result.AgreeCannotTell, 1, 0},
		"the tool failed":  {nil, result.AgreeCannotTell, 0, 0},
		"small difference": {[]float64{39, 42.9, 35.1, 39}, result.AgreeYes, 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, warnings := Agreements(blocks.HostAnd(), verified, blocks.Join(common, second(blocks.Rows("veth", "goodput", tt.twin...))), Rule{Margin: 0.05})
			must.Require(t, len(got) == 1, "agreements %+v", got)
			a := got[0]
			must.EqualFor(t, fmt.Sprintf("%+v, warnings %v", a, warnings), []any{tt.want, tt.n, "veth", "goodput", "iperf3", tt.warnings}, []any{a.Agree, a.N, a.Mode, a.Metric, a.Tool, len(warnings)})
			for _, w := range warnings {
				must.EqualFor(t, fmt.Sprintf("warning %+v", w), []any{"tools_disagree", "veth stream goodput"}, []any{w.Code, w.Scope})
			}
		})
	}
	got, _ := Agreements(blocks.HostAnd(), nil, common, Rule{Margin: 0.05})
	must.True(t, got == nil, "nothing was verified: %+v", got)
}
