package view

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/report/doc"
	page "tare/internal/report/html"
	"tare/internal/report/markdown"
	"tare/internal/report/text"
	"tare/internal/report/view/combination"
	"tare/internal/report/view/history"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
	"tare/internal/wording"
)

// documents are all documents that pages are tested with: those of runs and those of histories.
func documents() map[string]doc.Document {
	out := map[string]doc.Document{}
	for name, in := range reports.Inputs() {
		out[name] = New(in).Document()
	}
	for name, h := range histories() {
		out["history-"+name] = history.Document(h, history.Options{Command: "tare history --full", Version: "1.2"})
	}
	for name, c := range combinations() {
		out["combination-"+name] = combination.Document(c, combination.Options{Command: "tare combine --full", Version: "1.2"})
	}
	return out
}

func histories() map[string]result.History {
	return map[string]result.History{
		"changed": sampleHistory(1, 20, 2), "steady": steadyHistory(), "many": sampleHistory(2, 60, 20), "empty": {Study: "overlays"},
		"hostile": hostileHistory(), "short": sampleHistory(1, 2, 2), "clock": setBack(),
	}
}

// sampleHistory is a history of so many machines, runs and modes. The first mode gets worse with
// a new kernel half way, the second better without one.
func sampleHistory(machines, runs, modes int) result.History {
	h := result.History{Study: "overlays", Hash: "0123456789abcdef0123456789abcdef", FalseAlarms: 0.05, MinRuns: 7}
	for m := range machines {
		machine := result.MachineHistory{Machine: fmt.Sprintf("Xeon 84%02d #1", m), Facts: []result.Fact{{Name: "CPU model", Value: "Intel Xeon"}, {Name: "CPUs", Value: "4"}}}
		for i := range runs {
			r := result.HistoryRun{ID: fmt.Sprintf("%d%03d", m, i), Path: fmt.Sprintf("tare-runs/%d-%d", m, i), Started: time.Date(2026, 9, 1, 3, m, 0, 0, time.UTC).AddDate(0, 0, i), Build: result.Build{Version: "1.2"}}
			if i == runs/2 {
				r.Changed = []result.Difference{{Scope: "host a", Name: "kernel", Before: "6.8.0", After: "6.9.1"}}
			}
			if i == 3 {
				r.Note = "noisy: other load took 12 % of the CPUs"
			}
			machine.Runs = append(machine.Runs, r)
		}
		for mode := range modes {
			for _, metric := range []string{"goodput", "rtt_p999"} {
				info, _ := result.MetricNamed(metric)
				spread := 0.012
				s := result.HistorySeries{Mode: fmt.Sprintf("docker/mode-%d", mode), Baseline: "host", Workload: "tcp_stream", Metric: metric, Better: info.Better, Spread: &spread}
				for i := range runs {
					ratio := (0.53 + 0.01*float64(mode)) * (1 + 0.15*float64(m)) * (1 + 0.012*math.Sin(float64(7*i+mode)))
					if mode < 2 && i >= runs/2 && metric == "goodput" {
						ratio *= []float64{0.88, 1.1}[mode]
					}
					s.Points = append(s.Points, result.HistoryPoint{Run: i, Ratio: ratio, RatioCI: &result.Interval{ratio * 0.98, ratio * 1.02}})
				}
				if mode < 2 && metric == "goodput" && runs > 2 {
					before, after := (0.53+0.01*float64(mode))*(1+0.15*float64(m)), (0.53+0.01*float64(mode))*(1+0.15*float64(m))*[]float64{0.88, 1.1}[mode]
					s.Changes = []result.ChangePoint{{Point: runs / 2, Before: before, After: after, P: 0.002, Worse: mode == 0}}
				}
				machine.Series = append(machine.Series, s)
			}
		}
		h.Machines = append(h.Machines, machine)
	}
	h.LeftOut = []result.LeftOut{{Path: "tare-runs/broken", Reason: "run.json is cut short"}}
	return h
}

func steadyHistory() result.History {
	h := sampleHistory(1, 20, 2)
	for i := range h.Machines[0].Series {
		h.Machines[0].Series[i].Changes = nil
	}
	return h
}

// setBack is a history in which the clock was set back and one run has no time.
func setBack() result.History {
	h := sampleHistory(1, 5, 1)
	h.Machines[0].Runs[3].Started, h.Machines[0].Runs[4].Started = h.Machines[0].Runs[0].Started, time.Time{}
	h.Machines[0].Runs[3].Note = "its clock was set back"
	return h
}

const evilText = "<script>alert(1)</script>|\x1b[31mred\x1b[0m\u202eevil\u2066\n# h1\r\n`x` **b** [a](javascript:x) &lt; ]]> --> \x00\x9b\u200f"

// hostileHistory has hostile names, numbers that no run has, and indices of nothing.
func hostileHistory() result.History {
	e := evilText + strings.Repeat("w", 3000)
	huge, nan := math.MaxFloat64, math.NaN()
	return result.History{Study: e, Hash: e, FalseAlarms: huge, LeftOut: []result.LeftOut{{Path: e, ID: e, Reason: e}}, Machines: []result.MachineHistory{{
		Machine: e, Facts: []result.Fact{{Name: e, Value: e}},
		Runs: []result.HistoryRun{{ID: e, Path: e, Build: result.Build{Version: e}, Note: e, Changed: []result.Difference{{Scope: e, Name: e, Before: e, After: e}}},
			{ID: e, Started: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)}, {ID: e, Started: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}},
		Series: []result.HistorySeries{
			{Mode: e, Baseline: e, Workload: e, Metric: e, Better: result.Direction(e), Spread: &huge, Points: []result.HistoryPoint{{Run: 0, Ratio: huge, RatioCI: &result.Interval{-huge, huge}}, {Run: 1, Ratio: 5e-324}, {Run: 2, Ratio: 1}, {Run: 99, Ratio: 1}, {Run: -1, Ratio: 1}},
				Changes: []result.ChangePoint{{Point: 1, Before: huge, After: nan, Worse: true}, {Point: 2, Before: 0, After: 0}, {Point: 77}, {Point: -1}}},
			{Mode: "no points"},
			{Mode: e, Points: []result.HistoryPoint{{Ratio: nan}, {Ratio: math.Inf(1)}, {Ratio: -1}, {Ratio: 0.5, RatioCI: &result.Interval{nan, nan}}}},
		}}, {}}}
}

func TestHistoryGolden(t *testing.T) {
	for name, h := range histories() {
		if name == "short" || name == "clock" || name == "hostile" {
			continue
		}
		d := history.Document(h, history.Options{Command: "tare history --full"})
		golden(t, "history-"+name+".txt", text.Write(d, text.Options{Width: 100}))
		if name != "many" {
			golden(t, "history-"+name+".md", markdown.Write(d))
		}
	}
}

// A terminal shows the answer first, no line is too wide, and much is bounded unless all is asked for.
func TestHistoryText(t *testing.T) {
	for name, h := range histories() {
		for _, full := range []bool{false, true} {
			for _, width := range []int{100, 60} {
				out := string(text.Write(history.Document(h, history.Options{Full: full, Command: "tare history --full"}), text.Options{Width: width}))
				lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
				for _, l := range lines {
					must.True(t, wording.Width(l) <= width, "%s: %d columns: %s", name, wording.Width(l), l)
				}
				must.True(t, !strings.ContainsAny(out, "\x1b\u202e\x00"), "%s: control characters reach the terminal", name)
				if answer := history.Answer(h); len(lines) < 4 || !strings.Contains(strings.Join(lines[:min(len(lines), 12)], " "), strings.Fields(answer)[0]) {
					t.Errorf("%s: the answer %q is not at the top:\n%s", name, answer, out)
				}
				must.True(t, name != "many" || width != 100 || full || len(lines) <= 80, "60 runs and 80 series take %d lines", len(lines))
				must.True(t, name != "many" || width != 100 || !full || strings.Count(out, "docker/mode-19") == 4,
					"--full shows %d of 4 series of the last mode", strings.Count(out, "docker/mode-19"))
			}
		}
	}
}

func TestHistoryAnswer(t *testing.T) {
	for _, c := range []struct{ name, answer, also, not string }{
		{"changed", "2 changes found in 20 runs: 2 of 4 series changed.", "docker/mode-0 tcp_stream goodput: worse, 0.53 -> 0.47 (-12 %) since run 0010 of 2026-09-11, when the environment changed: host a kernel 6.8.0, now 6.9.1.", ""},
		{"steady", "No change found in 20 runs: 4 series.", "False alarms: a history without any change shows one, in any of its series, with a probability of at most 5 %.", "since"},
		{"empty", "There is no run to show.", "", "probability"},
		{"short", "2 runs: too few to find a change, which takes at least 7 on one machine.", "at most 5 %", "No change"},
	} {
		h := histories()[c.name]
		out := strings.Join(strings.Fields(string(text.Write(history.Document(h, history.Options{}), text.Options{Width: 100}))), " ")
		if got := history.Answer(h); got != c.answer || !strings.Contains(out, c.answer) || !strings.Contains(out, c.also) || c.not != "" && strings.Contains(out, c.not) {
			t.Errorf("%s: %q, want %q and %q, not %q in:\n%s", c.name, got, c.answer, c.also, c.not, out)
		}
	}
}

// The page has a figure for each mode and metric with a line for each machine, and a table behind it with each run.
func TestHistoryPage(t *testing.T) {
	out := string(page.Write(history.Document(sampleHistory(2, 60, 20), history.Options{})))
	must.Equal(t, 40, strings.Count(out, "<figure"))
	must.Equal(t, 2*60*40, strings.Count(out, `class="run-mark"`))
	must.ContainFor(t, "the page", out, `class="series k0"`, `class="series k1"`, "host a kernel 6.8.0, now 6.9.1", "run.json is cut short", "2026-09-11")
	must.True(t, len(out) <= 4<<20, "the page has %d bytes", len(out))
	many := sampleHistory(1, 10, 100)
	must.EqualFor(t, "figures of 200 series", 60, bytes.Count(page.Write(history.Document(many, history.Options{})), []byte("<figure")))
}

// Where the clock was set back, the axis counts runs.
func TestHistoryAxis(t *testing.T) {
	if out := string(page.Write(history.Document(setBack(), history.Options{}))); !strings.Contains(out, "runs in their order") || strings.Contains(out, "start of the run, UTC") {
		t.Error("a history whose clock was set back is drawn by time")
	}
}
