package workloads

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/sheet"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

var update = flag.Bool("update", false, "write the golden files")

func TestStrip(t *testing.T) {
	v := model.New(reports.Drawable(4))
	s, ok := timeline(v.Workloads[0].Tables[0], model.NewBuilder(v).Begin)
	must.Require(t, ok && len(s.Plane.Lanes) == 3, "drawn %v, lanes: %+v", ok, s.Plane.Lanes)
	looks := map[chart.SpotLook]int{}
	for _, spot := range s.Plane.Lanes[1].Spots {
		looks[spot.Look]++
		must.True(t, !math.IsInf(spot.Y, 0) && math.Abs(spot.Y) <= maxDeviation, "%+v is not placed", spot)
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
		v := model.New(reports.Drawable(c.blocks))
		got, ok := timedOf(v.Workloads[0].Tables[0], mostSlots)
		must.Require(t, ok, "no series")
		s := got.chart()
		if l := s.Plane.Lanes[0]; len(l.Lines) != c.lines || len(l.Bands) != c.bands || !strings.Contains(s.Caption, c.caption) {
			t.Errorf("%d blocks: %d lines, %d pieces of band: %s", c.blocks, len(l.Lines), len(l.Bands), s.Caption)
		}
		b := got.tableOf()
		diff := cmp.Diff([]string{"host", "m"}, b.Heads)
		must.True(t, diff == "" && len(b.Rows) == 8 && b.Rows[1].Name == "0.1-0.2", "table: %+v\n%s", b, diff)
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
	v := model.New(reports.Sample())
	curves := percentileCurves(v.Workloads[1])
	must.Require(t, len(curves) == 1 && curves[0].Title == "Round trip", "%d curves", len(curves))
	s := curves[0].chart()
	must.Equal(t, []string{"host", "netns/published", "netns/vxlan", "host-local", "netns/bridge"}, s.Keys)
	for i, l := range s.Plane.Lanes[0].Lines {
		must.True(t, l.Key == i && len(l.Points) == 2 && l.Points[0].X < l.Points[1].X && l.Points[0].Y < l.Points[1].Y, "line %d: %+v", i, l)
	}
	must.Contain(t, s.Caption, "curve of percentiles")
	must.Equal(t, []int{7, 2}, []int{len(curves[0].tableOf().Rows), len(curves[0].tableOf().Heads)})
}

func TestLossCurve(t *testing.T) {
	v := model.New(reports.Drawable(3))
	s, ok := lossCurve(v.Workloads[1])
	must.Require(t, ok, "no curve")
	host := s.Plane.Lanes[0]
	open := 0
	for _, spot := range host.Spots {
		if spot.Look == chart.Open {
			open++
		}
	}
	must.True(t, len(host.Spots) == 9 && open == 3 && len(host.Flags) == 2 && host.Note == "0 %: 0.800, 1 %: ≥ 0.900 Gbit/s",
		"%d steps, %d limited, flags %+v, %q", len(host.Spots), open, host.Flags, host.Note)
	must.True(t, len(host.Lines) == 1 && host.Lines[0].Points[0].Y == 0, "median: %+v", host.Lines)
	if _, ok := lossCurve(v.Workloads[0]); ok {
		t.Error("a curve of loss without a search")
	}
}

// However many trials there are, a chart and a table of trials hold no more than so many.
func TestChartsAreBounded(t *testing.T) {
	v := model.New(reports.Drawable(3000))
	main := v.Workloads[0].Tables[0]
	for _, p := range sheet.Panels(main) {
		for _, r := range p.Rows {
			must.True(t, len(r.Dots) <= sheet.MostDots, "%s: %d dots", p.Title, len(r.Dots))
		}
	}
	s, _ := timeline(main, model.NewBuilder(v).Begin)
	spots := 0
	for _, l := range s.Plane.Lanes {
		spots += len(l.Spots)
	}
	must.True(t, spots <= sheet.MostSpots && strings.Contains(s.Caption, fmt.Sprintf("at most %d are drawn", sheet.MostSpots/3)), "%d spots: %s", spots, s.Caption)
	b := model.NewBuilder(v)
	l := sheet.Log(b, v.Workloads[0])[0].(doc.Details).Blocks[0].(doc.Table)
	rows := l.Groups[0].Rows
	must.True(t, len(rows) == sheet.MostLog && strings.HasPrefix(l.Caption, "600 of 6003 trials"), "%d rows: %s", len(rows), l.Caption)
	curve, _ := lossCurve(v.Workloads[1])
	for _, l := range curve.Plane.Lanes {
		must.True(t, len(l.Spots) <= sheet.MostSpots, "%d steps", len(l.Spots))
	}
}

func TestECDF(t *testing.T) {
	curves := percentileCurves(model.New(reports.WithECDFs()).Workloads[1])
	must.Require(t, len(curves) == 1, "%d curves", len(curves))
	s := curves[0].chart()
	must.Equal(t, []string{"host", "netns/published", "netns/vxlan", "host-local", "netns/bridge"}, s.Keys)
	lane := s.Plane.Lanes[0]
	for i, whole := range []bool{true, false, true, false, false} {
		l := lane.Lines[i]
		rising := slices.IsSortedFunc(l.Points, func(a, b chart.XY) int {
			return int(math.Copysign(1, a.X-b.X+a.Y-b.Y))
		})
		must.True(t, l.Dense == whole && whole == (len(l.Points) > 20) && rising && l.Points[0].Y > 0, "line %d of %d points, dense %t, rising %t", i, len(l.Points), l.Dense, rising)
	}
	must.Equal(t, 6, len(lane.Spots))
	must.ContainFor(t, "the caption", s.Caption, "in steps of 2.2 %", "Rings are such means", "Of 1 trial that count")
	must.True(t, strings.Contains(s.Plane.Title, "ECDF") && *s.Plane.X.Hi >= 5 && *s.Plane.X.Hi <= 6, "%s, to %g", s.Plane.Title, *s.Plane.X.Hi)
	f := chart.Figure{Title: "tcp_rr: " + s.Plane.Title, Desc: s.Desc, Planes: []chart.Plane{s.Plane}}
	must.File(t, "testdata/tcp_rr-ecdf.svg", f.Standalone(), *update)

	b := curves[0].tableOf()
	for i, want := range [][]string{
		{"121796", "4", "15.6", "16.6", "22.1", "26.8", "44.1", "88.2", "176", "353"},
		{"means of trials", "-", "-", "-", "24.1", "-", "53.7", "-", "-", "-"},
	} {
		must.EqualFor(t, b.Rows[i].Name, want, b.Rows[i].Cells)
	}
	// Of one that was not measured nothing is shown, whatever a file has of it.
	void := slices.IndexFunc(b.Rows, func(r sheet.BehindRow) bool { return r.Name == "netns/macvlan" })
	text := strings.Join(b.Rows[void].Cells, " ")
	must.True(t, strings.Trim(text, "- ") == "", "netns/macvlan, which is void: %s", text)
}

// What is further out than there are durations is not told; a distribution that somebody
// edited is none.
func TestFewDurations(t *testing.T) {
	few := result.ECDF{Distribution: *result.Distribute("rtt", map[float64]int64{1e-5: 30, 2e-5: 20})}
	for q, want := range map[float64]bool{0.001: false, 0.5: true, 0.9: true, 0.99: false, 1: true} {
		_, ok := pooledAt(few, q)
		must.True(t, ok == want, "quantile %g of 50: told %t", q, ok)
	}
	in := reports.WithECDFs()
	for i := range in.Run.ECDFs {
		in.Run.ECDFs[i].Counts = in.Run.ECDFs[i].Counts[:3]
	}
	must.EqualFor(t, "distributions without counts", []*result.ECDF(nil), percentileCurves(model.New(in).Workloads[1])[0].Pooled)
}

// Steps that the sender did not reach do not tell the path's loss.
func TestCurveLeavesOutLimitedSteps(t *testing.T) {
	var c curve
	c.points([]result.Step{
		{Load: 2000, Duration: 1, LossRatio: 0.5, Limited: true}, {Load: 1000, Duration: 1, LossRatio: 0.02},
		{Load: 1000, Duration: 0.5, LossRatio: 0.9, Limited: true}, {Load: 1000, Duration: 1},
	}, 8000)
	want := []curvePoint{
		{Load: "8.00", Steps: 3, Seconds: "2.5 s", Median: "1.00 %", Worst: "2.00 %", Lossy: 1, Limited: 1},
		{Load: "16.0", Steps: 1, Seconds: "1.0 s", Median: "-", Worst: "-", Limited: 1},
	}
	must.Equal(t, want, c.Points)
	must.Equal(t, "Mbit/s", c.Unit)
}
