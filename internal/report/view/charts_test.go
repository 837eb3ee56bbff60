package view

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// drawable is a run of three modes with all that charts are made of: series, percentiles,
// searches, trials that failed, were ruled out and whose path was not proven.
func drawable(blocks int) Input {
	in := Input{Run: result.Run{Status: result.RunComplete, Modes: []result.Mode{
		{ID: "host", Status: result.ModeMeasured},
		{ID: "m", Baseline: "host", Status: result.ModeMeasured},
		{ID: "gone", Baseline: "host", Status: result.ModeUnsupported, Reason: "the kernel has no such link"},
	}}}
	at := time.Date(2026, 8, 1, 9, 30, 0, 0, time.UTC)
	add := func(t result.Trial) {
		t.Seq, t.Started = len(in.Trials)+1, at
		at = at.Add(time.Second)
		in.Trials = append(in.Trials, t)
	}
	for b := 1; b <= blocks; b++ {
		for i, mode := range []string{"host", "m"} {
			v := 1e9 * (1 + 0.1*float64(b%3)) / float64(i+1)
			add(result.Trial{Block: b, Mode: mode, Workload: "tcp_stream", Status: result.TrialOK, Metrics: map[string]float64{"goodput": v},
				Series: &result.Series{Metric: "goodput", Interval: 0.1, Values: []float64{v, v * 1.1, v * 0.9, v, v, v, v, v}}})
			add(result.Trial{Block: b, Mode: mode, Workload: "udp_search", Status: result.TrialOK, Metrics: map[string]float64{"throughput_0": 0.8 * v, "throughput_1": 0.9 * v},
				Search: &result.Search{Payload: 1000}, Steps: []result.Step{{Load: v / 8000, LossRatio: 0.02}, {Load: v / 9000}, {Load: 2 * v / 8000, Limited: true}}})
		}
	}
	add(result.Trial{Block: 1, Mode: "m", Workload: "tcp_stream", Status: result.TrialFailed, Reason: "dial: timeout"})
	add(result.Trial{Block: 1, Mode: "m", Workload: "tcp_stream", Status: result.TrialFailed, Void: true, Reason: "another way"})
	add(result.Trial{Block: 1, Mode: "m", Workload: "tcp_stream", Status: result.TrialInvalid, Reason: "steal", Metrics: map[string]float64{"goodput": 0.4e9}})
	in.Run.Cells = []result.Cell{
		{Mode: "host", Workload: "tcp_stream", Metric: "goodput", Unit: "bit/s", Better: result.Higher, N: blocks, Value: new(1.1e9)},
		{Mode: "m", Workload: "tcp_stream", Metric: "goodput", Unit: "bit/s", Better: result.Higher, N: blocks, Baseline: "host", Value: new(0.55e9),
			Ratio: new(0.97), RatioCI: &result.Interval{0.9, 1.05}, Margin: 0.05, Verdict: result.CannotTell, BlocksNeeded: new(9)},
		{Mode: "host", Workload: "udp_search", Metric: "throughput_0", Unit: "bit/s", Better: result.Higher, N: blocks, Value: new(0.8e9)},
		{Mode: "m", Workload: "udp_search", Metric: "throughput_0", Unit: "bit/s", Better: result.Higher, N: blocks, Baseline: "host", Value: new(0.4e9), Ratio: new(0.5),
			RatioCI: &result.Interval{0.48, 0.52}, Verdict: result.Worse},
		{Mode: "host", Workload: "udp_search", Metric: "throughput_1", Unit: "bit/s", Better: result.Higher, N: blocks, Value: new(0.9e9), AtLeast: true},
	}
	return in
}

func TestStrip(t *testing.T) {
	v := newView(drawable(4))
	s, ok := v.Workloads[0].Tables[0].timeline(newBuilder(v).begin)
	if !ok || len(s.Plane.Lanes) != 3 {
		t.Fatalf("drawn %v, lanes: %+v", ok, s.Plane.Lanes)
	}
	looks := map[chart.SpotLook]int{}
	for _, spot := range s.Plane.Lanes[1].Spots {
		looks[spot.Look]++
		if math.IsInf(spot.Y, 0) || math.Abs(spot.Y) > maxDeviation {
			t.Errorf("%+v is not placed", spot)
		}
	}
	must.Equal(t, map[chart.SpotLook]int{chart.Counts: 4, chart.Broken: 1, chart.Void: 1, chart.Ruled: 1}, looks)
	must.Equal(t, []string{"the kernel has no such link", "unsupported here"}, []string{s.Plane.Lanes[2].Absent, s.Plane.Lanes[2].Note})
	must.Contain(t, s.Desc, "4 valid trials, the later half", "3 do not count", "gone: unsupported here")
}

func TestSeries(t *testing.T) {
	for _, c := range []struct {
		blocks, lines, bands int
		caption              string
	}{{2, 2, 0, "Of few trials each has a line"}, {5, 1, 8, "the band all of them"}} {
		v := newView(drawable(c.blocks))
		got, ok := v.Workloads[0].Tables[0].timedOf(mostSlots)
		if !ok {
			t.Fatal("no series")
		}
		s := got.chart()
		if l := s.Plane.Lanes[0]; len(l.Lines) != c.lines || len(l.Bands) != c.bands || !strings.Contains(s.Caption, c.caption) {
			t.Errorf("%d blocks: %d lines, %d pieces of band: %s", c.blocks, len(l.Lines), len(l.Bands), s.Caption)
		}
		b := got.tableOf()
		if diff := cmp.Diff([]string{"host", "m"}, b.Heads); diff != "" || len(b.Rows) != 8 || b.Rows[1].Name != "0.1-0.2" {
			t.Errorf("table: %+v\n%s", b, diff)
		}
	}
}

// Series of different lengths and grains meet in slots of one width, and nothing is made
// up where one has ended.
func TestBinned(t *testing.T) {
	long := &result.Series{Interval: 0.5, Values: []float64{1, 3, 5, 7}}
	short := &result.Series{Interval: 0.25, Values: []float64{2, 4, 6, 8}}
	got, count := make(series, 2), make([]float64, 2)
	binned(long, 1, got, count)
	must.Equal(t, series{2, 6}, got)
	if binned(short, 1, got, count); got[0] != 5 || !math.IsNaN(got[1]) {
		t.Errorf("short: %v", got)
	}
	for _, odd := range []*result.Series{nil, {}, {Interval: math.NaN(), Values: []float64{1, 2}}, {Interval: math.Inf(1), Values: []float64{1, 2}}, {Interval: -1, Values: []float64{1, 2}}} {
		must.EqualFor(t, fmt.Sprintf("what can be used of %+v", odd), (*result.Series)(nil), usable(&result.Trial{Status: result.TrialOK, Series: odd}))
	}
}

func TestPercentileCurves(t *testing.T) {
	v := newView(sample())
	curves := v.Workloads[1].percentileCurves()
	if len(curves) != 1 || curves[0].Title != "Round trip" {
		t.Fatalf("%d curves", len(curves))
	}
	s := curves[0].chart()
	must.Equal(t, []string{"host", "netns/published", "netns/vxlan", "host-local", "netns/bridge"}, s.Keys)
	for i, l := range s.Plane.Lanes[0].Lines {
		if l.Key != i || len(l.Points) != 2 || !(l.Points[0].X < l.Points[1].X && l.Points[0].Y < l.Points[1].Y) {
			t.Errorf("line %d: %+v", i, l)
		}
	}
	must.Contain(t, s.Caption, "curve of percentiles")
	must.Equal(t, []int{7, 2}, []int{len(curves[0].tableOf().Rows), len(curves[0].tableOf().Heads)})
}

func TestLossCurve(t *testing.T) {
	v := newView(drawable(3))
	s, ok := v.Workloads[1].lossCurve()
	if !ok {
		t.Fatal("no curve")
	}
	host := s.Plane.Lanes[0]
	open := 0
	for _, spot := range host.Spots {
		if spot.Look == chart.Open {
			open++
		}
	}
	if len(host.Spots) != 9 || open != 3 || len(host.Flags) != 2 || host.Note != "0 %: 0.800, 1 %: ≥ 0.900 Gbit/s" {
		t.Errorf("%d steps, %d limited, flags %+v, %q", len(host.Spots), open, host.Flags, host.Note)
	}
	if len(host.Lines) != 1 || host.Lines[0].Points[0].Y != 0 {
		t.Errorf("median: %+v", host.Lines)
	}
	if _, ok := v.Workloads[0].lossCurve(); ok {
		t.Error("a curve of loss without a search")
	}
}

func TestMatrix(t *testing.T) {
	b := newBuilder(newView(drawable(3)))
	m := b.matrix()[0].(doc.Section).Blocks[0].(doc.Overview)
	must.Equal(t, []doc.OverviewColumn{{Workload: "udp_search", Metric: "throughput at 1 % loss", To: "w2-2"}}, m.Columns)
	must.Equal(t, []doc.OverviewRow{
		{Mode: "host", Group: 1, Cells: []doc.OverviewCell{{Tone: chart.Plain, Change: "≥ 900 Mbit/s"}}},
		{Mode: "m", Group: 2, Cells: []doc.OverviewCell{{Tone: chart.Plain, Change: "not judged"}}},
		{Mode: "gone", Group: 3, Out: "unsupported"},
	}, m.Groups[0].Rows)
	for _, c := range b.overview(doc.Pages).Columns {
		if c.Workload == "udp_search" && c.Metric == m.Columns[0].Metric {
			t.Errorf("the answer has it too: %+v", c)
		}
	}
	must.EqualFor(t, "a matrix of nothing", []doc.Block(nil), newBuilder(newView(Input{})).matrix())
}

// However many trials there are, a chart and a table of trials hold no more than so many.
func TestChartsAreBounded(t *testing.T) {
	v := newView(drawable(3000))
	main := v.Workloads[0].Tables[0]
	for _, p := range main.panels() {
		for _, r := range p.Rows {
			if len(r.Dots) > mostDots {
				t.Errorf("%s: %d dots", p.Title, len(r.Dots))
			}
		}
	}
	s, _ := main.timeline(newBuilder(v).begin)
	spots := 0
	for _, l := range s.Plane.Lanes {
		spots += len(l.Spots)
	}
	if spots > mostSpots || !strings.Contains(s.Caption, fmt.Sprintf("at most %d are drawn", mostSpots/3)) {
		t.Errorf("%d spots: %s", spots, s.Caption)
	}
	b := newBuilder(v)
	l := b.log(v.Workloads[0])[0].(doc.Details).Blocks[0].(doc.Table)
	if rows := l.Groups[0].Rows; len(rows) != mostLog || !strings.HasPrefix(l.Caption, "600 of 6003 trials") {
		t.Errorf("%d rows: %s", len(rows), l.Caption)
	}
	curve, _ := v.Workloads[1].lossCurve()
	for _, l := range curve.Plane.Lanes {
		if len(l.Spots) > mostSpots {
			t.Errorf("%d steps", len(l.Spots))
		}
	}
}

// However many trials do not count, a page lists no more than so many.
func TestLostAreBounded(t *testing.T) {
	b := newBuilder(newView(drawable(1)))
	b.Lost = make([]result.Trial, 1000)
	lost := b.lost().(doc.Section).Blocks
	if n := len(lost[1].(doc.List).Items); n != mostLostRows || lost[2].(doc.Paragraph).Text == "" {
		t.Errorf("%d, %+v", n, lost[2])
	}
}

func TestThinned(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	must.Equal(t, []int{0, 3, 6, 9}, downsampled(all, 4))
	must.Equal(t, []any{10, 10}, []any{len(downsampled(all, 10)), len(downsampled(all, 1))})
	points := make([]point, 1000)
	for i := range points {
		points[i] = point{float64((i * 7) % 1000), &result.Trial{Seq: i, Status: result.TrialOK}}
		if i < 20 {
			points[i].trial.Status = result.TrialInvalid
		}
	}
	few := downsample(points)
	lo, hi, out := math.Inf(1), math.Inf(-1), 0
	for _, p := range few {
		lo, hi = min(lo, p.value), max(hi, p.value)
		if p.out() {
			out++
		}
	}
	must.Equal(t, []any{mostDots, 999.0, 0.0, 20}, []any{len(few), hi, lo, out})
}
