package change

import (
	"testing"

	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/wording"
)

// A clear change from two blocks is shown, as one that has no verdict for that reason.
func TestChangeOfTwoBlocks(t *testing.T) {
	c := result.Change{Mode: "m", Metric: "transaction_rate", BeforeN: 2, AfterN: 5, Judgement: result.Judgement{Ratio: new(0.25), RatioCI: &result.Interval{0.2, 0.32}, P: new(0.001), Verdict: result.CannotTell, Detectable: new(0.34)}}
	got := changeCell(c, model.ChangeForm{Form: wording.FormOf(c.Ratio)})
	must.EqualFor(t, "of two", "0.25x (0.20 .. 0.32)", got.Change+" "+got.Interval)
	must.EqualFor(t, "as a percentage", "-75 %", changeCell(c, model.ChangeForm{}).Change)
}

// A verdict without a ratio says why there is none, and one of a single set-up that it is.
func TestVerdictInWords(t *testing.T) {
	for want, j := range map[string]result.Judgement{
		"none in either":                         {Verdict: result.Same},
		"not compared":                           {},
		"cannot tell: a value is 0":              {Verdict: result.CannotTell},
		"worse: -5 %; indicative: of one set-up": {Verdict: result.Worse, Ratio: new(0.95), Setups: 1},
		"worse: -5 % (-6 % to -4 %)":             {Verdict: result.Worse, Ratio: new(0.95), RatioCI: &result.Interval{0.94, 0.96}, Setups: 2},
	} {
		must.Equal(t, want, Verdict(result.Change{Mode: "m", Metric: "rtt_max", BeforeN: 5, AfterN: 5, Judgement: j}))
	}
}
