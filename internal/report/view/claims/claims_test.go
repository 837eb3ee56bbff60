package claims

import (
	"strings"
	"testing"

	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// Ratios that were published as a number are drawn with what was found; other claims are not.
func TestClaimFigure(t *testing.T) {
	in := model.New(reports.Claimed())
	f, ok := claimFigure(in.Run.Claims, claimRows(in.Run.Claims))
	must.Require(t, ok && len(f.Panels) == 1 && len(f.Panels[0].Rows) == 4, "drawn: %v, %+v", ok, f)
	rows := f.Panels[0].Rows
	must.True(t, rows[0].Heading == "tcp-same" && *rows[0].Estimate == 0.992 && *rows[0].Interval == [2]float64{0.97, 1.01} && *rows[1].Estimate == 0.998 && rows[2].Interval == nil,
		"rows %+v", rows)
	if _, ok := claimFigure(in.Run.Claims[2:], claimRows(in.Run.Claims[2:])); ok {
		t.Error("a figure without a published ratio")
	}
}

// A reason that several claims have in common is listed once.
func TestClaimDiffers(t *testing.T) {
	rows := claimRows([]result.Claim{
		{Claim: "A", Differs: []string{"the kernel", "a card"}}, {Claim: "B", Differs: []string{"the kernel"}}, {Claim: "C"}, {Claim: "D.", Differs: []string{"the kernel", "a card"}},
		{Claim: "E", Differs: []string{"a switch", "the kernel"}},
	})
	var got []string
	for _, i := range claimDiffers(rows) {
		got = append(got, i.Name+" "+i.Text)
	}
	must.Equal(t, "All claims: The kernel.|A; D: A card.|E: A switch.", strings.Join(got, "|"))
	if got := claimDiffers(rows[:1]); len(got) != 1 || got[0].Name != "A:" || got[0].Text != "The kernel. A card." {
		t.Errorf("of one claim: %+v", got)
	}
}
