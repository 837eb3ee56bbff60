package view

import (
	"strings"
	"testing"

	"tare/internal/report/html"
	"tare/internal/report/view/change"
	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

func sampleChanges() result.Changes {
	return result.Changes{
		Before:      result.RunRef{ID: "1111aaaa", Started: "2026-11-20T10:00:00Z", Status: result.RunComplete, Profile: "standard", Tare: result.Build{Version: "1.0"}},
		After:       result.RunRef{ID: "2222bbbb", Started: "2026-11-21T10:00:00Z", Status: result.RunInterrupted, Profile: "standard", Tare: result.Build{Version: "1.1"}},
		Environment: []result.Difference{{Scope: "tare", Name: "version", Before: "1.0", After: "1.1"}, {Scope: "host a", Name: "kernel", Before: "6.1", After: ""}},
		Refused:     []result.Refusal{{Workload: "udp_stream", Reason: "rate was 500Mbit/s and is 1Gbit/s"}, {Reason: "lab mtu was 1500 and is 9000"}},
		Modes:       []result.ModeChange{{Mode: "docker/overlay", Before: result.ModeMeasured, After: result.ModeFailed, Reason: "engine a: context deadline exceeded"}, {Mode: "netns/new", After: result.ModeMeasured}},
		Cells: []result.Change{
			{Mode: "host", Workload: "tcp_stream", Metric: "goodput", Unit: "bit/s", Better: result.Higher, Own: true, Before: new(21e9), BeforeCI: &result.Interval{20e9, 22e9}, BeforeN: 7,
				After: new(18e9), AfterCI: &result.Interval{17e9, 19e9}, AfterN: 7, Judgement: result.Judgement{Ratio: new(0.857), RatioCI: &result.Interval{0.80, 0.92}, Verdict: result.Worse, Margin: 0.05}},
			{Mode: "docker/bridge", Workload: "tcp_stream", Metric: "goodput", Unit: "bit/s", Better: result.Higher, Before: new(0.83), BeforeCI: &result.Interval{0.81, 0.86}, BeforeN: 7,
				After: new(0.71), AfterCI: &result.Interval{0.69, 0.73}, AfterN: 7, Judgement: result.Judgement{Ratio: new(0.855), RatioCI: &result.Interval{0.82, 0.89}, Verdict: result.Worse, Margin: 0.05}},
			{Mode: "netns/vxlan", Workload: "tcp_stream", Metric: "goodput", Unit: "bit/s", Better: result.Higher, Before: new(0.6), BeforeN: 1, After: new(0.6), AfterN: 1,
				Judgement: result.Judgement{Ratio: new(1.0), Verdict: result.CannotTell, Margin: 0.05}},
			{Mode: "netns/macvlan", Workload: "tcp_stream", Metric: "goodput", Unit: "bit/s", Better: result.Higher, Before: new(0.9), BeforeCI: &result.Interval{0.8, 1.01}, BeforeN: 7,
				After: new(0.92), AfterCI: &result.Interval{0.8, 1.1}, AfterN: 7, Judgement: result.Judgement{Ratio: new(1.02), RatioCI: &result.Interval{0.91, 1.14}, Verdict: result.CannotTell, Margin: 0.05, BlocksNeeded: new(12)}},
			{Mode: "docker/bridge", Workload: "tcp_stream", Metric: "retransmits", Unit: "segments", Better: result.Lower, Before: new(0.0), BeforeN: 7, After: new(2.0), AfterN: 7, Judgement: result.Judgement{Verdict: result.CannotTell}},
			{Mode: "docker/bridge", Workload: "tcp_stream", Metric: "send_rate", Unit: "bit/s", Better: result.Higher, Before: new(0.8), BeforeN: 7, After: new(0.8), AfterN: 7, Judgement: result.Judgement{Ratio: new(1.0), Verdict: result.Same, Margin: 0.05}},
		},
	}
}

func TestChangesGolden(t *testing.T) {
	golden(t, "changes.txt", changesText(sampleChanges(), TextOptions{}))
	golden(t, "changes-narrow.txt", changesText(sampleChanges(), TextOptions{Width: 48}))
	golden(t, "changes.md", changesMarkdown(sampleChanges()))
}

// A change of a time stands beside that of the ratio, with its interval where there is room; where a change cannot be told the
// screen has its interval alone.
func TestChangesTimes(t *testing.T) {
	c := sampleChanges()
	cell := func(mode string, v result.Verdict, added float64) result.Change {
		return result.Change{Mode: mode, Workload: "tcp_rr", Metric: "transaction_rate", Unit: "1/s", Better: result.Higher, Before: new(0.62), BeforeN: 7, After: new(0.56), AfterN: 7,
			Judgement: result.Judgement{Ratio: new(0.9), RatioCI: &result.Interval{0.88, 0.92}, Verdict: v, Margin: 0.05},
			Added:     &result.Added{Amount: result.Amount{Value: added, CI: &result.Interval{added - 1e-7, added + 1e-7}, N: 7}, Unit: "s/transaction"}}
	}
	c.Cells = []result.Change{cell("docker/bridge", result.Worse, 1.2e-6), cell("netns/vxlan", result.CannotTell, 4.1e-6)}
	shown := func(units model.Units) (out []string) {
		o := change.Overview(c, "", units)
		for _, r := range o.Groups[0].Rows[:2] {
			out = append(out, strings.Join(strings.Fields(r.Cells[0].Mark+" "+r.Cells[0].Change+" "+r.Cells[0].Interval+" "+r.Cells[0].Time), " "))
		}
		return append(out, o.Columns[0].Legend)
	}
	must.Equal(t, []string{"▼ -10 % (-12 .. -8) +1.2 us", "? -10 % (-12 .. -8)", "+us for each transaction more than before"}, shown(model.UnitBoth))
	must.Equal(t, []string{"▼ -10 % (-12 .. -8)", "? -10 % (-12 .. -8)", ""}, shown(model.UnitPercent))
	must.Equal(t, []string{"▼ +1.2 us (+1.1 .. +1.3)", "? +4.1 us (+4.0 .. +4.2)", "+us for each transaction more than before"}, shown(model.UnitTime))
	c.Cells[0].Added.CI = &result.Interval{-1e-7, 2.5e-6} // no change is possible
	must.Equal(t, "▼ -10 % (-12 .. -8)", shown(model.UnitBoth)[0])
	must.Equal(t, "▼ +1.2 us (-0.1 .. +2.5)", shown(model.UnitTime)[0])
	c.Cells[0].Added.CI = &result.Interval{1.1e-6, 1.3e-6}
	must.Contain(t, strings.Join(strings.Fields(changesText(c, TextOptions{})), " "), "worse: -10 % (-12 % to -8 %); +1.2 us (+1.1 .. +1.3)", "how much more a mode adds")
	must.Contain(t, changesMarkdown(c), "| change | time |", "| worse: -10 % (-12 % to -8 %) | \\+1.2 us (+1.1 .. +1.3) |")
	must.Contain(t, string(html.Changes(change.Full(c))), `<th scope="col" class="num">Time</th>`, "&#43;1.2\u00a0us\u00a0(&#43;1.1 .. &#43;1.3)")
	must.NotContain(t, changesMarkdown(sampleChanges()), "| time |", "Beside it is the time")
}

// Whatever runs hold, nothing of it controls a terminal or passes as HTML.
func TestChangesHostile(t *testing.T) {
	const evil = "<script>alert(1)</script>\x1b[31m|\u202e"
	c := result.Changes{
		Before: result.RunRef{ID: evil, Started: evil, Status: evil, Profile: evil, Tare: result.Build{Version: evil}}, Noisy: evil,
		Environment: []result.Difference{{Scope: evil, Name: evil, Before: evil, After: evil}},
		Refused:     []result.Refusal{{Mode: evil, Workload: evil, Reason: evil}},
		Modes:       []result.ModeChange{{Mode: evil, Before: evil, After: evil, Reason: evil}},
		Cells:       []result.Change{{Mode: evil, Workload: evil, Metric: evil, Unit: evil, Judgement: result.Judgement{Verdict: evil}}},
	}
	text := changesText(c, TextOptions{})
	must.True(t, !strings.ContainsAny(text, "\x1b\u202e"), "control characters reach the terminal:\n%q", text)
	md := changesMarkdown(c)
	must.True(t, !strings.Contains(md, "<script") && !strings.ContainsAny(md, "\x1b\u202e"), "HTML passes through Markdown:\n%s", md)
}

// Across machines, a warning comes before everything else, and what it names is in no other list.
func TestChangesOfMachinesGolden(t *testing.T) {
	c := sampleChanges()
	c.Noisy = "the later run is too noisy to judge: 3 of 12 trials are invalid"
	c.Machine = []result.Difference{{Scope: "host a", Name: "microcode", Before: "0x1", After: "0x2b000603"}}
	c.Environment = append(c.Environment, c.Machine...)
	c.Warnings = []result.Warning{{Code: "different_machines", Scope: "run", Text: "the two runs are of different machines, and ratios differ between machines: " +
		"microcode of host a was 0x1 and is 0x2b000603. Repeat the earlier run on this machine."}}
	golden(t, "changes-machines.txt", changesText(c, TextOptions{}))
	golden(t, "changes-machines.md", changesMarkdown(c))
	golden(t, "changes-machines.screen.txt", changesScreen(c, "tare compare --full before after"))
}

// sampleBasis is a run that was judged by its history.
func sampleBasis() result.Changes {
	c := sampleChanges()
	c.Refused, c.Modes = nil, nil
	c.Basis = &result.Basis{
		Runs: []result.RunRef{{ID: "1111aaaa", Started: "2026-11-01T10:00:00Z"}, {ID: "2222bbbb", Started: "2026-11-20T10:00:00Z"}}, Last: 20, Machine: "Model One, 4 CPUs",
		LeftOut: []result.LeftOut{{Path: "runs/x", Reason: "it ran on another machine: Model Two, 4 CPUs"}}, FalseAlarms: 0.005,
	}
	c.Cells = []result.Change{
		{Mode: "docker/bridge", Workload: "tcp_stream", Metric: "goodput", Unit: "bit/s", Better: result.Higher, Before: new(0.83), BeforeN: 18,
			After: new(0.80), AfterN: 3, Judgement: result.Judgement{Ratio: new(0.964), RatioCI: &result.Interval{0.955, 0.973}, Verdict: result.Worse, Margin: 0.05}, Spread: new(0.006)},
		{Mode: "netns/vxlan", Workload: "tcp_stream", Metric: "goodput", Unit: "bit/s", Better: result.Higher, Before: new(0.6), BeforeN: 20, After: new(0.61), AfterCI: &result.Interval{0.6, 0.62},
			AfterN: 1, Judgement: result.Judgement{Ratio: new(1.017), RatioCI: &result.Interval{0.93, 1.1}, Verdict: result.CannotTell, Margin: 0.05, Detectable: new(0.3)}, Spread: new(0.04)},
		{Mode: "netns/new", Workload: "tcp_stream", Metric: "goodput", Unit: "bit/s", Better: result.Higher, After: new(0.7), AfterN: 1, Judgement: result.Judgement{Verdict: result.CannotTell, Margin: 0.05}},
	}
	return c
}

func TestBasisGolden(t *testing.T) {
	golden(t, "changes-history.txt", changesText(sampleBasis(), TextOptions{}))
	golden(t, "changes-history.md", changesMarkdown(sampleBasis()))
	golden(t, "changes-history-overview.txt", changesScreen(sampleBasis(), "tare check --full --history runs after"))
	nothing := sampleBasis()
	nothing.Cells, nothing.Basis.Reason = nil, "2 comparable earlier runs, and at least 5 are required"
	o := change.Overview(nothing, "", model.UnitBoth)
	must.True(t, o.Sentence == "Nothing was compared." && strings.Contains(o.Notes[0].Text, "at least 5"), "%q, %v", o.Sentence, o.Notes)
}
