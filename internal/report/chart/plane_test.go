package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// lanesOf is a plane with everything that a lane may hold.
func lanesOf() Plane {
	zero, nan := 0.0, math.NaN()
	return Plane{
		Title: "Trials in time order", X: Dim{Lo: &zero, Label: "time, min"},
		Y: Dim{Ticks: []Tick{{-0.05, "-5 %"}, {0, "0 %"}, {0.05, "+5 %"}}, Kind: Fraction},
		Lanes: []Lane{
			{Label: "host", Note: "median 23.4 Gbit/s", Group: 1, Levels: []float64{0},
				Spots: []Spot{{X: 1, Y: 0.01, No: 1, Tip: "block 1"}, {X: 2, Y: -0.04, No: 2}, {X: 3, Y: 0.05, Look: Ruled, Tip: "ruled <out>"}, {X: 4, Y: -0.05, Look: Broken}, {X: 5, Y: -0.05, Look: Void}, {X: 6, Y: 0, Look: Open}},
				Lines: []Line{{Points: []XY{{1, 0.01}, {2, -0.04}}, Key: -1, Thin: true}}},
			{Label: "band", Group: 2, Bands: []Reach{{1, -0.02, 0.03}, {3, -0.01, 0.02}, {6, -0.03, 0.01}}, Lines: []Line{{Points: []XY{{1, 0}, {nan, nan}, {3, 0.01}, {6, -0.01}}, Key: -1}}},
			{Label: "m/none", Note: "unsupported here", Group: 3, Tone: Absent, Absent: "the kernel has no such link"},
		},
	}
}

func TestPlanes(t *testing.T) {
	curves := Plane{Title: "Round trip, percentiles, us", Tall: 150, X: Dim{Ticks: []Tick{{0.3, "50 %"}, {1, "90 %"}, {2, "99 %"}}, Label: "share"}, Y: Dim{Log: true}}
	curves.Lanes = []Lane{{Tone: Plain}}
	for i := range 10 {
		x := float64(i + 1)
		curves.Lanes[0].Lines = append(curves.Lanes[0].Lines, Line{Key: i, Group: i + 1, Points: []XY{{0.3, 10 * x}, {1, 12 * x}, {2, 30 + x}}})
	}
	loss := Plane{Title: "Loss over load", Tall: 66, Y: Dim{Ticks: LossTicks(), Kind: LossKind}, Lanes: []Lane{{Label: "host", Note: "0 %: 9.1 Gbit/s",
		Spots: []Spot{{X: 1, Y: LossAt(0), No: 1}, {X: 2, Y: LossAt(1e-9)}, {X: 3, Y: LossAt(0.02)}, {X: 3.5, Y: LossAt(7), Look: Open}},
		Flags: []Flag{{X: 2.2, Text: "0 %", Tip: "Throughput without loss"}}, Levels: []float64{LossAt(0.01)}}}}
	history := Plane{Title: "Ratio to host", Tall: 150, X: Dim{Kind: Untold, Ticks: []Tick{{0, "1 Nov"}, {7, "8 Nov"}}, Label: "start of the run"}, Lanes: []Lane{{Label: "docker/overlay", Note: "worse", Tone: Worse,
		Flags: []Flag{{X: 2, Text: "1", Tip: "kernel 6.1, now 6.8"}}, Series: []Series{
			{Key: 0, Points: []SeriesPoint{{0, 0.5, &[2]float64{0.4, 0.6}, "run <a>"}, {2, 0.4, &[2]float64{0.3, 9}, "run b"}, {7, 0.41, nil, ""}},
				Levels: []Level{{0, 0, 0.5}, {2, 7, 0.405}}, Changes: []LevelChange{{2, Worse, "0.50 -> 0.41"}}},
			{Key: 1, Points: []SeriesPoint{{1, 0.55, nil, "run c"}}},
		}}}}
	for name, p := range map[string]Plane{"lanes": lanesOf(), "curves": curves, "loss": loss, "history": history, "bare": {}} {
		t.Run(name, func(t *testing.T) {
			f := Figure{Title: name, Desc: "What there is to see.", Planes: []Plane{p}}
			got, page := f.Standalone(), f.Inline("id")
			wellFormed(t, got)
			wellFormed(t, page)
			golden(t, "plane-"+name+".svg", got)
			golden(t, "plane-"+name+".inline.svg", page)
		})
	}
}

// Whatever numbers come, drawing ends, and no coordinate is out of hand.
func TestOddPlanes(t *testing.T) {
	odd := []float64{0, -1, 1, 1e-300, 1e300, math.MaxFloat64, math.NaN(), math.Inf(1), math.Inf(-1)}
	for _, a := range odd {
		for _, b := range odd {
			for _, d := range []Dim{{}, {Lo: &a, Hi: &b}, {Log: true, Lo: &b}, {Ticks: []Tick{{a, "a"}, {b, "b"}}}} {
				l := Lane{Spots: []Spot{{X: a, Y: b}, {X: b, Y: a, Look: Void}}, Bands: []Reach{{a, b, a}, {b, a, b}}, Flags: []Flag{{X: a}}, Levels: []float64{b},
					Lines:  []Line{{Points: []XY{{a, b}, {b, a}}, Key: 1}, {Points: []XY{{a, a}}, Key: -1}},
					Series: []Series{{Key: 1, Points: []SeriesPoint{{a, b, &[2]float64{b, a}, ""}, {b, a, &[2]float64{a, b}, ""}}, Levels: []Level{{a, b, a}}, Changes: []LevelChange{{X: b}}}, {Key: 9}}}
				f := Figure{Planes: []Plane{{X: d, Y: d, Lanes: []Lane{l}}}}
				wellFormed(t, f.Inline("x"))
				wellFormed(t, f.Standalone())
			}
		}
	}
}

// A path of many steps ends where its points do, however its steps are rounded.
func TestTraceDoesNotRunAway(t *testing.T) {
	s := scale{lo: 0, hi: 1, x0: 0, x1: 33.333}
	var points []XY
	for i := range 1000 {
		points = append(points, XY{float64(i) / 999, 0})
	}
	x := 0.0
	for i, step := range strings.Split(trace(points, s, s, 0), "l") {
		if i == 0 {
			continue
		}
		var dx float64
		must.Get(fmt.Sscan(strings.ReplaceAll(step, "-", " -"), &dx))(t)
		x += dx
	}
	must.True(t, math.Abs(x-33.3) <= 0.06, "ends at %.2f, not 33.3", x)
}

func TestPlaces(t *testing.T) {
	var got []float64
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999, 1} {
		got = append(got, math.Round(100*QuantileAt(q, 3.6))/100)
	}
	must.Equal(t, []float64{0, 0.3, 1, 2, 3, 3.6}, got)
	got = nil
	for _, r := range []float64{-1, 0, 1e-9, 1e-5, 0.01, 1, 7, math.NaN()} {
		got = append(got, math.Round(100*LossAt(r))/100)
	}
	must.Equal(t, []float64{0, 0, 0.8, 0.8, 3.8, 5.8, 5.8, 0}, got)
}
