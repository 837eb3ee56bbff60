package view

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"tare/internal/report/doc"
	"tare/internal/report/text"
	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
	"tare/internal/wording"
)

// screen is the first screen of a run.
func screen(in model.Input, opt TextOptions) string {
	return string(text.Overview(New(in).Overview(), opt))
}

// The default output of a run stays on one screen.
func TestOverviewGolden(t *testing.T) {
	for name, in := range map[string]model.Input{"full": reports.Sample(), "sdn": reports.Sdn(), "noisy": reports.NoisyRun(), "limited": reports.AtTheLimit(), "explained": reports.Explained(), "interrupted": reports.Inputs()["interrupted"]} {
		in.Page, in.Full = "tare-runs/x/report.html", "tare report --full tare-runs/x"
		t.Run(name, func(t *testing.T) {
			got := screen(in, TextOptions{})
			bounds(t, name, got, 100)
			golden(t, name+".screen.txt", got)
		})
	}
}

// bounds checks that a screen has at most 40 lines of at most so many columns.
func bounds(t *testing.T, name, screen string, width int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
	must.True(t, len(lines) <= text.MostLines, "%s at %d: %d lines", name, width, len(lines))
	for _, l := range lines {
		w := wording.Width(l)
		must.True(t, w <= width, "%s at %d: %d columns: %s", name, width, w, l)
		must.EqualFor(t, fmt.Sprintf("%s at %d: trailing space", name, width), strings.TrimRight(l, " "), l)
		for _, r := range l {
			must.True(t, !unicode.In(r, unicode.Cc, unicode.Cf), "%s: control character %U", name, r)
		}
	}
	must.True(t, lines[0] != "" && lines[len(lines)-1] != "", "%s at %d begins or ends with an empty line", name, width)
}

// many is a run of so many families of so many modes each, beside their baselines.
func many(families, modes int, name string) model.Input {
	in := model.Input{Title: "Many modes", Page: "tare-runs/many/report.html", Full: "tare report --full tare-runs/many",
		Run: result.Run{Status: result.RunComplete, Profile: "standard", Started: time.Unix(0, 0), Finished: time.Unix(600, 0)}}
	for f := range families {
		base := fmt.Sprintf("host%d", f)
		for m := range modes + 1 {
			mode := result.Mode{ID: base, Status: result.ModeMeasured}
			if m > 0 {
				mode.ID, mode.Baseline = fmt.Sprintf("%s%d-%d", name, f, m), base
			}
			in.Run.Modes = append(in.Run.Modes, mode)
			for i, metric := range []string{"goodput", "transaction_rate", "connection_rate", "rtt_p99", "cpu_cost"} {
				known, _ := result.MetricNamed(metric)
				c := result.Cell{Mode: mode.ID, Workload: []string{"tcp_stream", "tcp_rr", "tcp_crr", "tcp_rr", "tcp_stream"}[i], Metric: metric, Unit: known.Unit, Better: known.Better, N: 12, Value: new(1e9)}
				if m > 0 {
					r := 1 + float64(m)/10
					c.Baseline, c.Ratio, c.RatioCI, c.Verdict, c.Margin = base, &r, &result.Interval{r - 0.05, r + 0.05}, result.Worse, 0.05
				}
				in.Run.Cells = append(in.Run.Cells, c)
			}
		}
	}
	for i := range 25 {
		in.Run.Warnings = append(in.Run.Warnings, result.Warning{Code: fmt.Sprintf("made_up_%d", i), Scope: "run", Text: strings.Repeat("a long warning ", 40)})
	}
	return in
}

// No run makes the screen larger, and what does not fit is counted.
func TestOverviewFits(t *testing.T) {
	runs := reports.Inputs()
	runs["12x3"] = many(12, 3, "netns/mode")
	runs["25"] = many(1, 25, "netns/mode")
	runs["long names"] = many(1, 30, strings.Repeat("netns/long-name-", 12))
	runs["wide names"] = many(2, 3, "网络模式/覆盖网络-")
	void := many(1, 25, "m")
	for i := range void.Run.Modes[1:] {
		void.Run.Modes[i+1].Status, void.Run.Modes[i+1].Reason = result.ModeVoid, fmt.Sprintf("device %d did not move %s", i, strings.Repeat("very ", 200))
	}
	runs["void"] = void
	alone := many(1, 8, "m")
	for i := range alone.Run.Modes {
		alone.Run.Modes[i].Baseline = ""
	}
	for i := range alone.Run.Cells {
		c := &alone.Run.Cells[i]
		c.Baseline, c.Ratio, c.RatioCI, c.Verdict = "", nil, nil, ""
	}
	runs["no baseline"] = alone
	one := many(1, 3, "m")
	for i := range one.Run.Cells {
		if c := &one.Run.Cells[i]; c.Ratio != nil {
			c.N, c.RatioCI, c.Verdict = 1, nil, result.CannotTell
		}
	}
	runs["one trial"] = one
	for name, in := range runs {
		for _, width := range []int{40, 60, 80, 100, 132} {
			got := screen(in, TextOptions{Width: width})
			bounds(t, name, got, min(width, 100))
			checkCounted(t, fmt.Sprintf("%s at %d", name, width), got, New(in).Overview())
		}
	}
}

// checkCounted checks that the screen counts the modes that it does not show, and names
// the way to them.
func checkCounted(t *testing.T, name, got string, o doc.Overview) {
	t.Helper()
	rows := 0
	for _, g := range o.Groups {
		rows += len(g.Rows)
	}
	joined := strings.Join(strings.Fields(got), " ")
	if strings.Contains(joined, " more mode") {
		return
	}
	table, _, _ := strings.Cut(got, "\nMore: ")
	lines := strings.Count(table, "\n")
	must.True(t, lines >= rows, "%s: %d modes, and the screen does not count those that it lacks:\n%s", name, rows, got)
}

// The table alone has every row.
func TestOverviewTable(t *testing.T) {
	in := many(12, 3, "netns/mode")
	got := text.OverviewTable(New(in).Overview(), TextOptions{})
	for _, m := range in.Run.Modes {
		must.True(t, bytes.Contains(got, []byte(m.ID+" ")), "the table lacks %s", m.ID)
	}
}

// All changes of a column have one form, each with the time that the mode adds, and one that cannot be told has its interval.
func TestOverviewForms(t *testing.T) {
	in := many(1, 2, "m")
	seen := map[string]bool{}
	in.Run.Cells = slices.DeleteFunc(in.Run.Cells, func(c result.Cell) bool {
		again := seen[c.Mode]
		seen[c.Mode] = true
		return again
	})
	for i := range in.Run.Cells {
		c := &in.Run.Cells[i]
		c.Workload, c.Metric, c.Unit, c.Better, c.Value = in.Run.Cells[0].Workload, "transaction_rate", "1/s", result.Higher, new(1e5)
		if c.Ratio == nil {
			continue
		}
		c.Added = &result.Added{Amount: result.Amount{Value: 2.41e-6, CI: &result.Interval{2.3e-6, 2.5e-6}, N: 7}, Unit: "s/transaction"}
		c.Ratio, c.RatioCI, c.Verdict, c.N = new(0.62), &result.Interval{0.61, 0.63}, result.Worse, 7
	}
	in.Trials = nil
	last := &in.Run.Cells[len(in.Run.Cells)-1]
	cells := func(units model.Units) (out []string) {
		in.Units = units
		for _, g := range New(in).Overview().Groups {
			for _, r := range g.Rows {
				c := r.Cells[0]
				out = append(out, strings.Join(strings.Fields(c.Mark+" "+c.Change+" "+c.Interval+" "+c.Time), " "))
			}
		}
		return out
	}
	must.Equal(t, []string{"100 k/s 10.0 us", "▼ -38 % (-39 .. -37) +2.4 us", "▼ -38 % (-39 .. -37) +2.4 us"}, cells(model.UnitBoth))
	must.Equal(t, []string{"100 k/s", "▼ -38 % (-39 .. -37)", "▼ -38 % (-39 .. -37)"}, cells(model.UnitPercent))
	must.Equal(t, []string{"100 k/s 10.0 us", "▼ +2.4 us (+2.3 .. +2.5)", "▼ +2.4 us (+2.3 .. +2.5)"}, cells(model.UnitTime))
	last.Ratio, last.RatioCI, last.Verdict = new(0.05), &result.Interval{0.04, 0.06}, result.Worse
	must.Equal(t, []string{"100 k/s", "▼ 0.62x (0.61 .. 0.63)", "▼ 0.050x (0.040 .. 0.060)"}, cells(model.UnitPercent))
	last.Ratio, last.RatioCI, last.Verdict = new(1.49), &result.Interval{1.04, 2.13}, result.CannotTell
	must.Equal(t, "? +49 % (+4 .. +113)", cells(model.UnitPercent)[2])
	must.Contain(t, strings.Join(New(in).Overview().Legend, "; "), "several modes are compared")
}

// What modes add to an exchange is translated to a round trip that the reader names, and nothing else is.
func TestElsewhere(t *testing.T) {
	in := many(1, 2, "m")
	for i := range in.Run.Cells {
		c := &in.Run.Cells[i]
		c.Metric, c.Unit, c.Better = "transaction_rate", "1/s", result.Higher
		if c.Ratio != nil {
			c.Added = &result.Added{Amount: result.Amount{Value: 6e-6, CI: &result.Interval{3e-6, 9e-6}, N: 7}, Unit: "s/transaction"}
		}
	}
	must.Equal(t, 1, len(New(in).Overview().Explanations)) // that of the generator's settings
	in.RTT = 300 * time.Microsecond
	notes := New(in).Overview().Explanations
	must.Contain(t, notes[0].String(), "On a round trip of 300 us: a transaction of ", "takes longer by: ", " +2 % (+1 .. +3)")
	in.RTTOf = "ssh://web1\x1b[31m"
	measured := New(in).Overview().Explanations[0].String()
	must.Contain(t, measured, "On a round trip of 300 us, the shortest to ssh://web1")
	must.NotContain(t, measured, "\x1b")
}

// A run of namespaces says that they are not Docker, and what measures it; one with a mode of an engine does not.
func TestNoEngine(t *testing.T) {
	in := many(1, 2, "netns/m")
	for i, m := range in.Run.Modes {
		if m.Baseline != "" {
			in.Run.Modes[i].Like = "docker/macvlan"
		}
	}
	must.Contain(t, New(in).Overview().Notes[0].Text, "namespaces, not Docker", "tare run --modes host,docker/macvlan")
	in.Run.Modes[2].ID, in.Run.Modes[2].Like = "docker/macvlan", ""
	for _, n := range New(in).Overview().Notes {
		must.NotContain(t, n.Text, "not Docker")
	}
}
