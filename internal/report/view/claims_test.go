package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tare/internal/report/text"
	"tare/internal/report/view/claims"
	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// claimsScreen is the first screen of --claims.
func claimsScreen(in model.Input, opt TextOptions) string {
	return string(text.Claims(New(in).Claims(), opt))
}

func TestClaimsGolden(t *testing.T) {
	in := reports.Claimed()
	in.Page, in.Full = "tare-runs/x/report.html", "tare report --full tare-runs/x"
	got := claimsScreen(in, TextOptions{})
	bounds(t, "claims", got, 100)
	golden(t, "claims.claims.txt", got)
}

// The first screen of a run counts its claims and names the command that lists them.
func TestOverviewCountsClaims(t *testing.T) {
	in := reports.Claimed()
	got := screen(in, TextOptions{})
	want := "Claims: 2 hold, 2 do not hold, 3 cannot tell: tare report --claims tare-runs/x\n"
	must.True(t, strings.Contains(got, want), "no %q in:\n%s", want, got)
	in.Run.CostByParts = reports.Explained().Run.CostByParts
	must.ContainFor(t, "with a ladder", screen(in, TextOptions{}), "Claims: 2 hold")
	if got := screen(reports.Sample(), TextOptions{}); strings.Contains(got, "Claims") {
		t.Errorf("claims of a run without any:\n%s", got)
	}
}

// However many claims and however long their texts, the screen is bounded, and what does not fit is
// counted.
func TestClaimsFit(t *testing.T) {
	for _, n := range []int{1, 5, 12, 17, 30, 31, 60, 400} {
		for _, long := range []int{1, 40} {
			in := reports.Claimed()
			in.Page, in.Full = "tare-runs/x/report.html", "tare report --full tare-runs/x"
			in.Run.Claims = nil
			for i := range n {
				in.Run.Claims = append(in.Run.Claims, result.Claim{ID: fmt.Sprint(i), Claim: fmt.Sprintf("claim%d ", i) + strings.Repeat("is long ", long), Published: strings.Repeat("0.9 ", long),
					Outcome: result.ClaimCannotTell, Reason: strings.Repeat("for a reason ", long)})
			}
			for _, width := range []int{40, 60, 80, 100, 132} {
				name := fmt.Sprintf("%d claims, %d words, at %d", n, long, width)
				got := claimsScreen(in, TextOptions{Width: width})
				bounds(t, name, got, min(width, 100))
				shown := strings.Count(got, "? cannot tell")
				left := fmt.Sprintf("%d more claim", n-shown)
				if joined := strings.Join(strings.Fields(got), " "); shown == 0 || (shown < n) != strings.Contains(joined, "more claim") || shown < n && !strings.Contains(joined, left) {
					t.Errorf("%s: %d are shown:\n%s", name, shown, got)
				}
			}
		}
	}
	got := claimsScreen(reports.Hostile(), TextOptions{})
	bounds(t, "hostile", got, 100)
	must.True(t, !strings.Contains(got, "7.77"), "a value of a mode that was not measured:\n%s", got)
}

// A claim about a mode without values has none, whatever a file contains.
func TestClaimsOfUnmeasuredModes(t *testing.T) {
	in := reports.Claimed()
	must.True(t, !strings.Contains(HTML(in), "0.777"), "the page has the value of a mode that was not measured")
	rows := New(in).Claims().Groups[0].Rows
	last := rows[len(rows)-1]
	must.True(t, last.Outcome == "cannot tell" && last.Found == "" && last.Reason == "swarm was not measured", "it is shown as %+v", last)
	must.True(t, in.Run.Claims[6].Value != nil, "the input was changed")
}

// allClaims are two studies, one of which was run.
func allClaims() []result.StudyClaims {
	in := reports.Claimed()
	bare := []result.Claim{{ID: "x", Claim: "A is faster than B", Source: "somebody", Published: "1.2"}}
	return []result.StudyClaims{
		{Study: "overlays", Title: "Overlays", Command: "tare run overlays --claims", Run: "tare-runs/20260803-090000-overlays", Started: time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC), Profile: "standard", Machine: "Linux 6.18.44 x86_64", Claims: in.Run.Claims[:4]},
		{Study: "sdn", Title: "Switches", Command: "tare run sdn --claims", Claims: bare},
	}
}

func TestClaimsOfStudiesGolden(t *testing.T) {
	c := claims.Of(allClaims())
	golden(t, "studies.claims.txt", text.ClaimsTable(c, TextOptions{}))
	for _, l := range strings.Split(string(text.ClaimsTable(c, TextOptions{Width: 60})), "\n") {
		must.True(t, len(l) <= 60, "%d columns: %s", len(l), l)
	}
	got := c.Groups[1]
	must.True(t, got.Rows[0].Outcome == "not run" && got.Text == "not run: tare run sdn --claims" && got.Run == "", "a study that was not run: %+v", got)
	must.EqualFor(t, "sentence", "Claims: 1 holds, 2 do not hold, 1 cannot tell, 1 not run.", c.Sentence)
	golden(t, "studies.claims.md", claimsMarkdown(claims.Tables(allClaims())))
	golden(t, "section.claims.md", claimsMarkdown(New(reports.Claimed()).ClaimBlocks()))
}

// Text of foreign origin is escaped wherever it stands.
func TestClaimsOfStudiesAreEscaped(t *testing.T) {
	evil := "<img src=x>|\x1b[31m`x`\n# h"
	all := []result.StudyClaims{{Study: evil, Title: evil, Command: evil, Run: evil, Profile: evil, Machine: evil, Claims: reports.HostileClaims(evil, evil)}}
	for form, got := range map[string]string{"text": string(text.ClaimsTable(claims.Of(all), TextOptions{})), "md": claimsMarkdown(claims.Tables(all))} {
		must.True(t, !strings.ContainsAny(got, "\x1b") && !strings.Contains(got, "\n# h"), "%s:\n%q", form, got)
		must.True(t, form != "md" || !strings.Contains(got, "<img"), "HTML in:\n%s", got)
	}
}
