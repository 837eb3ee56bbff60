package view

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/report/markdown"
	"tare/internal/report/text"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/wording"
)

// ranking is a run of two baselines with more than two modes each: two that are tied, one
// that is tied with neither or both, one with too few values.
func ranking() Input {
	level := map[string][]float64{ // goodput in Gbit/s and transactions in 1000/s of each mode
		"host": {23.4, 41}, "netns/macvlan": {23.1, 40}, "netns/ipvlan": {23.0, 40.1}, "netns/published": {16.2, 31}, "netns/vxlan": {15.2, 25}, "netns/bridge": {14.1, 25},
		"host-local": {38, 53}, "netns/colocated": {33, 50}, "docker/colocated": {33.1, 47}, "docker/to-host": {29, 47.2},
	}
	run := result.Run{Schema: result.Schema, ID: "0ddba11", Status: result.RunComplete, Profile: "standard", Tare: result.Build{Version: "test"}}
	for _, m := range [][2]string{
		{"host", ""}, {"netns/published", "host"}, {"netns/bridge", "host"}, {"netns/macvlan", "host"}, {"netns/ipvlan", "host"}, {"netns/vxlan", "host"},
		{"host-local", ""}, {"netns/colocated", "host-local"}, {"docker/colocated", "host-local"}, {"docker/to-host", "host-local"},
	} {
		run.Modes = append(run.Modes, result.Mode{ID: m[0], Title: m[0], Baseline: m[1], Status: result.ModeMeasured})
	}
	noise := []float64{0.004, -0.011, 0.009, -0.003, 0.012, -0.008, 0.002, -0.010, 0.007, 0.013, -0.005, 0.001, -0.012}
	var trials []result.Trial
	for block := 1; block <= 6; block++ {
		for i, m := range run.Modes {
			if m.ID == "netns/ipvlan" && block > 2 {
				continue
			}
			for w, workload := range []string{"tcp_stream", "tcp_rr"} {
				own := 1 + noise[(block*7+i*5+w*3)%len(noise)]
				if m.ID == "netns/vxlan" && workload == "tcp_stream" { // it wavers
					own = 1 + 10*noise[(block*7+i*5)%len(noise)]
				}
				metrics := map[string]float64{"goodput": level[m.ID][0] * 1e9 * own, "retransmits": 0}
				if workload == "tcp_rr" {
					metrics = map[string]float64{"transaction_rate": level[m.ID][1] * 1e3 * own, "rtt_p50": 1 / (level[m.ID][1] * 1e3 * own)}
				}
				trials = append(trials, result.Trial{Schema: result.TrialSchema, Seq: len(trials) + 1, Block: block, Mode: m.ID, Workload: workload, Attempt: 1, Status: result.TrialOK, Metrics: metrics})
			}
		}
	}
	run = analysis.EvaluateNumbers(run, analysis.Input{Modes: run.Modes, Workloads: []string{"tcp_stream", "tcp_rr"}, Serial: []string{"tcp_rr"}, Trials: trials, Rule: analysis.Rule{Margin: 0.05}})
	run.Metrics = nil
	return Input{Run: run, Trials: trials, Title: "Which of these networks can be told apart?"}
}

// The first screen has the letters of its leading metric, and says which modes are tied.
func TestTiesOnTheFirstScreen(t *testing.T) {
	golden(t, "ranking.screen.txt", text.Overview(New(ranking()).Overview(), text.Options{}))
	for width, want := range map[int]bool{100: true, 55: false} {
		if got := string(text.Overview(New(ranking()).Overview(), text.Options{Width: width})); strings.Contains(got, "ties:") != want || strings.Contains(got, "more column") == want {
			t.Errorf("at %d columns the letters are explained and shown: want %t\n%s", width, want, got)
		}
	}
	if got := New(sample()).Overview(); strings.Contains(got.Sentence, "apart") || len(got.Columns) != 3 {
		t.Errorf("two modes with one baseline are ranked: %+v", got)
	}
}

// A ranking is of all modes without a baseline, the best first, and fits a terminal.
func TestRankingDocument(t *testing.T) {
	in := ranking()
	modes := slices.Clone(in.Run.Modes)
	for i := range modes {
		modes[i].Baseline = ""
	}
	in.Run.Source, in.Run.Pairing, in.Run.Warnings = "numbers.csv", "block", []result.Warning{{Code: "one_value", Scope: "netns/x", Text: "x"}}
	in.Run = analysis.EvaluateNumbers(in.Run, analysis.Input{Modes: modes, Workloads: []string{"tcp_stream", "tcp_rr"}, Serial: []string{"tcp_rr"}, Trials: in.Trials, Rule: analysis.Rule{Margin: 0.05}})
	d := New(in).Ranking()
	golden(t, "ranked.txt", text.Write(d, text.Options{}))
	golden(t, "ranked.md", markdown.Write(d))
	golden(t, "ranked.view", dump(d))
	all := inputs()
	all["ranked"] = in
	for name, in := range all {
		for _, width := range []int{40, 80, 132} {
			for line := range strings.Lines(string(text.Write(New(in).Ranking(), text.Options{Width: width}))) {
				if w := wording.Width(strings.TrimSuffix(line, "\n")); w > width {
					t.Errorf("%s at %d: %d columns: %s", name, width, w, line)
				}
			}
		}
	}
}

func TestTieSentences(t *testing.T) {
	for want, r := range map[string]result.Ranking{
		"all 3 modes can be told apart.":                     {Modes: []result.Ranked{{Mode: "a", Letters: "a"}, {Mode: "b", Letters: "b"}, {Mode: "c", Letters: "c"}}},
		"a, b and c cannot be told apart.":                   {Modes: []result.Ranked{{Mode: "a", Letters: "a"}, {Mode: "b", Letters: "a"}, {Mode: "c", Letters: "a"}}},
		"a and b cannot be told apart; neither can b and c.": {Modes: []result.Ranked{{Mode: "a", Letters: "a"}, {Mode: "b", Letters: "ab"}, {Mode: "c", Letters: "b"}, {Mode: "d", Letters: "c"}}},
		"a and b cannot be told apart; neither can b and c; neither can c and d; neither can d and e; the column of letters has 1 more set.": {Modes: []result.Ranked{
			{Mode: "a", Letters: "a"}, {Mode: "b", Letters: "ab"}, {Mode: "c", Letters: "bc"}, {Mode: "d", Letters: "cd"}, {Mode: "e", Letters: "de"}, {Mode: "f", Letters: "e"},
		}},
		"a, b, c, d and 2 more cannot be told apart.": {Modes: []result.Ranked{
			{Mode: "a", Letters: "a"}, {Mode: "b", Letters: "a"}, {Mode: "c", Letters: "a"}, {Mode: "d", Letters: "a"}, {Mode: "e", Letters: "a"}, {Mode: "f", Letters: "a"},
		}},
		"the modes are not ranked: 60 modes are too many.":               {Reason: "60 modes are too many"},
		"the ties between the 3 modes take more letters than there are.": {Modes: []result.Ranked{{Mode: "a"}, {Mode: "b"}, {Mode: "c"}}},
	} {
		must.Equal(t, want, tieSentence(r))
	}
	got := unrankedNotes(result.Ranking{Unranked: []result.Unranked{{Mode: "a", Reason: "2 values, fewer than 3"}, {Mode: "b", Reason: "a value of 0"}, {Mode: "c", Reason: "2 values, fewer than 3"}}})
	must.Equal(t, []string{"a and c are not ranked: 2 values, fewer than 3.", "b is not ranked: a value of 0."}, got)
}

// The answer and the letters never contradict each other: of modes with overlapping intervals
// that are told apart, only one costs least.
func TestAnswerFollowsTheLetters(t *testing.T) {
	in := Input{Run: result.Run{Status: result.RunComplete}}
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
	in := ranking()
	for i := range in.Run.Modes {
		if in.Run.Modes[i].ID == "netns/published" {
			in.Run.Modes[i].Status, in.Run.Modes[i].Reason = result.ModeVoid, "not proven"
		}
	}
	for line := range strings.Lines(Markdown(in)) {
		if strings.Contains(line, "netns/published") && strings.Contains(line, "apart") {
			t.Errorf("a void mode is ranked: %s", line)
		}
	}
}
