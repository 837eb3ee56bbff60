package view

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/report/text"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// claimed is a run that published claims are held against: one of each outcome, a curve, an order, a
// value with a unit, one that cannot be checked, and one about a mode that was not measured.
func claimed() Input {
	in := sample()
	in.ClaimsCommand = "tare report --claims tare-runs/x"
	source := "Smith and others (2016), c4.xlarge instances, iperf3"
	in.Run.Modes = append(in.Run.Modes, result.Mode{ID: "docker/overlay", Status: result.ModeUnsupported, Reason: "no engine", Baseline: "host"})
	in.Run.Scenarios = append(in.Run.Scenarios, result.Scenario{ID: "swarm", Mode: "docker/overlay", Workload: "tcp_stream"})
	in.Run.Claims = []result.Claim{
		{ID: "tcp-same", Claim: "Published ports cost TCP nothing where the link limits", Source: source, Of: []string{"netns/published", "host"}, Metric: "goodput", HoldsIf: "same",
			Published: "0.992 (0.97-1.01)", PublishedValue: new(0.992), PublishedCI: &result.Interval{0.97, 1.01},
			Outcome: result.ClaimHolds, Reason: "the ratio is within 5 % of 1", Value: new(0.998), CI: &result.Interval{0.991, 1.005}, N: 4},
		{ID: "vxlan-half", Claim: "VXLAN halves TCP goodput", Source: source, Of: []string{"netns/vxlan", "host"}, Metric: "goodput", HoldsIf: "between 0.4 and 0.7",
			Published: "0.54", PublishedValue: new(0.54), Outcome: result.ClaimDoesNotHold, Reason: "0.81 to 0.88 is above 0.7", Value: new(0.84), CI: &result.Interval{0.81, 0.88}, N: 4,
			Differs: []string{"a kernel of 2016 without receive offload for VXLAN", "the lab has no link limit."}},
		{ID: "raw-udp", Claim: "Raw hosts lose nothing to 700 Mbit/s, then steeply more", Source: source, Of: []string{"host"}, Metric: "loss_ratio", Unit: "ratio", HoldsIf: "below 0.5% to 700Mbit/s and above 10% from 896Mbit/s",
			Published: "0 to 700 Mbit/s, 2 % at 768, 20 % at 896", Outcome: result.ClaimDoesNotHold, Reason: "no loss at 896 Mbit/s", N: 4, Points: []result.ClaimPoint{
				{Label: "700 Mbit/s", Value: new(0.0), CI: &result.Interval{0, 0}, Outcome: result.ClaimHolds},
				{Label: "896 Mbit/s", Value: new(0.001), CI: &result.Interval{0, 0.003}, Outcome: result.ClaimDoesNotHold}}},
		{ID: "order", Claim: "Raw, then published ports, then VXLAN", Of: []string{"host", "netns/published", "netns/vxlan"}, Metric: "transaction_rate", HoldsIf: "order",
			Outcome: result.ClaimCannotTell, Reason: "host and netns/published cannot be told apart; about 12 more blocks", N: 4, Points: []result.ClaimPoint{
				{Label: "host before netns/published", Value: new(1.02), CI: &result.Interval{0.97, 1.07}, Outcome: result.ClaimCannotTell},
				{Label: "netns/published before netns/vxlan", Value: new(1.3), CI: &result.Interval{1.2, 1.4}, Outcome: result.ClaimHolds}}},
		{ID: "rate", Claim: "A raw host answers 40000 requests a second", Of: []string{"host"}, Metric: "transaction_rate", Unit: "1/s", HoldsIf: "above 40000",
			PublishedValue: new(40000.0), Outcome: result.ClaimHolds, Reason: "58 to 62 k/s is above 40 k/s", Value: new(60e3), CI: &result.Interval{58e3, 62e3}, N: 4},
		{ID: "windows", Claim: "Windows containers lose 30 % of UDP", Source: source, Outcome: result.ClaimCannotTell, Reason: "needs Windows hosts with HNS"},
		{ID: "swarm", Claim: "Swarm's overlay loses almost 45 %", Source: source, Of: []string{"swarm", "host"}, Metric: "goodput", Outcome: result.ClaimHolds, Reason: "made up", Value: new(0.777), CI: &result.Interval{0.776, 0.778}},
	}
	return in
}

func hostileClaims(evil, mode string) []result.Claim {
	return []result.Claim{
		{ID: evil, Claim: evil, Source: evil, Of: []string{mode}, Unit: evil, Metric: evil, Published: evil, Outcome: result.ClaimOutcome(evil), Reason: evil, Value: new(math.NaN()), CI: &result.Interval{math.Inf(-1), math.NaN()},
			Points: []result.ClaimPoint{{Label: evil, Value: new(math.Inf(1)), Outcome: result.ClaimOutcome(evil)}, {}}, Differs: []string{evil, ""}},
		{ID: evil, Claim: evil, PublishedValue: new(-1.0), Outcome: result.ClaimHolds, Value: new(1e300), CI: &result.Interval{-1e300, math.Inf(1)}},
		{ID: evil, Claim: strings.Repeat(evil, 30), PublishedValue: new(0.5), PublishedCI: &result.Interval{math.NaN(), 1}, Outcome: result.ClaimDoesNotHold, Value: new(2.0), CI: &result.Interval{-1, 3}},
		// A value of a mode that was not measured must not be shown.
		{ID: evil, Claim: evil, Of: []string{"long"}, Outcome: result.ClaimHolds, Value: new(7.77)},
		{},
	}
}

// claimsScreen is the first screen of --claims.
func claimsScreen(in Input, opt TextOptions) string {
	return string(text.Claims(New(in).Claims(), opt))
}

func TestClaimsGolden(t *testing.T) {
	in := claimed()
	in.Page, in.Full = "tare-runs/x/report.html", "tare report --full tare-runs/x"
	got := claimsScreen(in, TextOptions{})
	bounds(t, "claims", got, 100)
	golden(t, "claims.claims.txt", got)
}

// The first screen of a run counts its claims and names the command that lists them.
func TestOverviewCountsClaims(t *testing.T) {
	in := claimed()
	got := screen(in, TextOptions{})
	if want := "Claims: 2 hold, 2 do not hold, 3 cannot tell: tare report --claims tare-runs/x\n"; !strings.Contains(got, want) {
		t.Errorf("no %q in:\n%s", want, got)
	}
	in.Run.Ladder = explained().Run.Ladder
	must.ContainFor(t, "with a ladder", screen(in, TextOptions{}), "Claims: 2 hold")
	if got := screen(sample(), TextOptions{}); strings.Contains(got, "Claims") {
		t.Errorf("claims of a run without any:\n%s", got)
	}
}

// However many claims and however long their texts, the screen is bounded, and what does not fit is
// counted.
func TestClaimsFit(t *testing.T) {
	for _, n := range []int{1, 5, 12, 17, 30, 31, 60, 400} {
		for _, long := range []int{1, 40} {
			in := claimed()
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
	got := claimsScreen(hostile(), TextOptions{})
	bounds(t, "hostile", got, 100)
	if strings.Contains(got, "7.77") {
		t.Errorf("a value of a mode that was not measured:\n%s", got)
	}
}

// A claim about a mode without values has none, whatever a file contains.
func TestClaimsOfUnmeasuredModes(t *testing.T) {
	in := claimed()
	if strings.Contains(HTML(in), "0.777") {
		t.Error("the page has the value of a mode that was not measured")
	}
	rows := New(in).Claims().Groups[0].Rows
	if last := rows[len(rows)-1]; last.Outcome != "cannot tell" || last.Found != "" || last.Reason != "swarm was not measured" {
		t.Errorf("it is shown as %+v", last)
	}
	if in.Run.Claims[6].Value == nil {
		t.Error("the input was changed")
	}
}

// Ratios that were published as a number are drawn with what was found; other claims are not.
func TestClaimFigure(t *testing.T) {
	in := newView(claimed())
	f, ok := claimFigure(in.Run.Claims, claimRows(in.Run.Claims))
	if !ok || len(f.Panels) != 1 || len(f.Panels[0].Rows) != 4 {
		t.Fatalf("drawn: %v, %+v", ok, f)
	}
	rows := f.Panels[0].Rows
	if rows[0].Heading != "tcp-same" || *rows[0].Estimate != 0.992 || *rows[0].Interval != [2]float64{0.97, 1.01} || *rows[1].Estimate != 0.998 || rows[2].Interval != nil {
		t.Errorf("rows %+v", rows)
	}
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

// allClaims are two studies, one of which was run.
func allClaims() []result.StudyClaims {
	in := claimed()
	bare := []result.Claim{{ID: "x", Claim: "A is faster than B", Source: "somebody", Published: "1.2"}}
	return []result.StudyClaims{
		{Study: "overlays", Title: "Overlays", Command: "tare run overlays --claims", Run: "tare-runs/20260803-090000-overlays", Started: time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC), Profile: "standard", Machine: "Linux 6.18.44 x86_64", Claims: in.Run.Claims[:4]},
		{Study: "sdn", Title: "Switches", Command: "tare run sdn --claims", Claims: bare},
	}
}

func TestClaimsOfStudiesGolden(t *testing.T) {
	c := ClaimsOf(allClaims())
	golden(t, "studies.claims.txt", text.ClaimsTable(c, TextOptions{}))
	for _, l := range strings.Split(string(text.ClaimsTable(c, TextOptions{Width: 60})), "\n") {
		if len(l) > 60 {
			t.Errorf("%d columns: %s", len(l), l)
		}
	}
	if got := c.Groups[1]; got.Rows[0].Outcome != "not run" || got.Text != "not run: tare run sdn --claims" || got.Run != "" {
		t.Errorf("a study that was not run: %+v", got)
	}
	must.EqualFor(t, "sentence", "Claims: 1 holds, 2 do not hold, 1 cannot tell, 1 not run.", c.Sentence)
	golden(t, "studies.claims.md", claimsMarkdown(ClaimTables(allClaims())))
	golden(t, "section.claims.md", claimsMarkdown(New(claimed()).ClaimBlocks()))
}

// Text of foreign origin is escaped wherever it stands.
func TestClaimsOfStudiesAreEscaped(t *testing.T) {
	evil := "<img src=x>|\x1b[31m`x`\n# h"
	all := []result.StudyClaims{{Study: evil, Title: evil, Command: evil, Run: evil, Profile: evil, Machine: evil, Claims: hostileClaims(evil, evil)}}
	for form, got := range map[string]string{"text": string(text.ClaimsTable(ClaimsOf(all), TextOptions{})), "md": claimsMarkdown(ClaimTables(all))} {
		if strings.ContainsAny(got, "\x1b") || strings.Contains(got, "\n# h") {
			t.Errorf("%s:\n%q", form, got)
		}
		if form == "md" && strings.Contains(got, "<img") {
			t.Errorf("HTML in:\n%s", got)
		}
	}
}
