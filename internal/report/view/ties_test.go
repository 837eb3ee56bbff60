package view

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/analysis/verdict"
	"tare/internal/report/markdown"
	"tare/internal/report/text"
	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
	"tare/internal/wording"
)

// The first screen has the letters of its leading metric, and says which modes are tied.
func TestTiesOnTheFirstScreen(t *testing.T) {
	golden(t, "ranking.screen.txt", text.Overview(New(reports.Ranking()).Overview(), text.Options{}))
	for width, want := range map[int]bool{100: true, 55: false} {
		if got := string(text.Overview(New(reports.Ranking()).Overview(), text.Options{Width: width})); strings.Contains(got, "ties:") != want || strings.Contains(got, "more column") == want {
			t.Errorf("at %d columns the letters are explained and shown: want %t\n%s", width, want, got)
		}
	}
	got := New(reports.Sample()).Overview()
	must.True(t, !strings.Contains(got.Sentence, "apart") && len(got.Columns) == 3, "two modes with one baseline are ranked: %+v", got)
}

// A ranking is of all modes without a baseline, the best first, and fits a terminal.
func TestRankingDocument(t *testing.T) {
	in := reports.Ranking()
	modes := slices.Clone(in.Run.Modes)
	for i := range modes {
		modes[i].Baseline = ""
	}
	in.Run.Source, in.Run.Pairing, in.Run.Warnings = "numbers.csv", "block", []result.Warning{{Code: "one_value", Scope: "netns/x", Text: "x"}}
	in.Run = analysis.EvaluateNumbers(in.Run, verdict.Input{Modes: modes, Workloads: []string{"tcp_stream", "tcp_rr"}, Serial: []string{"tcp_rr"}, Trials: in.Trials, Rule: verdict.Rule{Margin: 0.05}})
	d := New(in).Ranking()
	golden(t, "ranked.txt", text.Write(d, text.Options{}))
	golden(t, "ranked.md", markdown.Write(d))
	golden(t, "ranked.view", dump(d))
	all := reports.Inputs()
	all["ranked"] = in
	for name, in := range all {
		for _, width := range []int{40, 80, 132} {
			for line := range strings.Lines(string(text.Write(New(in).Ranking(), text.Options{Width: width}))) {
				w := wording.Width(strings.TrimSuffix(line, "\n"))
				must.True(t, w <= width, "%s at %d: %d columns: %s", name, width, w, line)
			}
		}
	}
}

// The answer and the letters never contradict each other: of modes with overlapping intervals
// that are told apart, only one costs least.
func TestAnswerFollowsTheLetters(t *testing.T) {
	in := model.Input{Run: result.Run{Status: result.RunComplete}}
	value := 1.0
	for i, id := range []string{"host", "n/a", "n/b", "n/c"} {
		m := result.Mode{ID: id, Status: result.ModeMeasured}
		c := result.Cell{Mode: id, Workload: "w", Metric: "goodput", Unit: "bit/s", Better: result.Higher, N: 5, Value: &value}
		if i > 0 {
			ratio := 0.92 - 0.04*float64(i)
			m.Baseline, c.Baseline, c.Verdict, c.Margin, c.Ratio, c.RatioCI = "host", "host", result.Worse, 0.05, &ratio, &result.Interval{ratio - 0.1, ratio + 0.1}
		}
		in.Run.Modes, in.Run.Cells = append(in.Run.Modes, m), append(in.Run.Cells, c)
	}
	in.Trials = []result.Trial{{Block: 1, Mode: "n/a", Workload: "w", Status: result.TrialOK, Metrics: map[string]float64{"goodput": 1}}}
	for letters, want := range map[string]string{
		"":      "By goodput against host, n/a, n/b and n/c cost about the same (-12 % to -20 %, with intervals that overlap).",
		"a b c": "By goodput against host, n/a costs least (-12 %) and n/c most (-20 %).",
		"a a b": "By goodput against host, n/a and n/b cost least (-12 % to -16 %) and n/c most (-20 %). n/a and n/b cannot be told apart.",
		"a a a": "By goodput against host, n/a, n/b and n/c cannot be told apart (-12 % to -20 %).",
	} {
		in.Run.Rankings = nil
		if of := strings.Fields(letters); len(of) == 3 {
			in.Run.Rankings = []result.Ranking{{Workload: "w", Metric: "goodput", Baseline: "host", Pairs: 3,
				Modes: []result.Ranked{{Mode: "n/a", Letters: of[0]}, {Mode: "n/b", Letters: of[1]}, {Mode: "n/c", Letters: of[2]}}}}
		}
		must.EqualFor(t, letters, want, New(in).Overview().Sentence)
	}
}

// A mode that is void has no letters, whatever a file says.
func TestNoLettersOfVoidModes(t *testing.T) {
	in := reports.Ranking()
	for i := range in.Run.Modes {
		if in.Run.Modes[i].ID == "netns/published" {
			in.Run.Modes[i].Status, in.Run.Modes[i].Reason = result.ModeVoid, "not proven"
		}
	}
	for line := range strings.Lines(Markdown(in)) {
		must.True(t, !strings.Contains(line, "netns/published") || !strings.Contains(line, "apart"), "a void mode is ranked: %s", line)
	}
}
