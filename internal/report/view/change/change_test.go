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
