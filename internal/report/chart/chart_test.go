package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

var update = flag.Bool("update", false, "write the golden files")

// ratios is a panel with a row of every tone.
func ratios() Panel {
	one := 1.0
	return Panel{
		Title: "Ratio to host",
		Axis:  Axis{Ratio: true, Ref: &one, RefTip: "1 = host", Band: &[2]float64{1 / 1.05, 1.05}, Left: "worse", Right: "better"},
		Rows: []Row{
			{Heading: "compared with host", Label: "host", Note: "baseline", Tone: Plain, Estimate: &one},
			row("a/worse", Worse, 0.71, 0.68, 0.75, 0.70, 0.705, 0.71, 0.74),
			row("a/better", Better, 1.12, 1.08, 1.15, 1.1, 1.1, 1.1, 1.1, 1.1, 1.15),
			row("a/same", Same, 1.0, 0.98, 1.02, 0.99, 1.01),
			row("a/small", Small, 0.97, 0.96, 0.98, 0.965, 0.975),
			row("a/unsure", Unsure, 0.9, 0.1, 40, 0.8, 1.0), // reaches beyond the axis
			{Label: "a/absent", Note: "unsupported here", Tone: Absent, Absent: "the kernel has no such link"},
			{Label: "a/empty", Note: "no trial", Tone: "no such tone"},
		},
	}
}

func row(label string, tone Tone, mid, lo, hi float64, dots ...float64) Row {
	r := Row{Label: label, Note: string(tone), Tone: tone, Estimate: &mid, Interval: &[2]float64{lo, hi}}
	for i, x := range dots {
		r.Dots = append(r.Dots, Dot{X: x, Tip: fmt.Sprintf("block %d", i+1), Out: i == 5})
	}
	return r
}

// stack is a chart of stacked bars: what modes cost, and what they cost more or less
// than the first.
func stack() Figure {
	bar := func(label string, values ...float64) Row {
		r := Row{Label: label, Note: "in all", Tone: Worse}
		for i, v := range values {
			key := i
			if i == 9 {
				key = Unsorted
			}
			r.Parts = append(r.Parts, Part{Key: key, Value: v, Tip: fmt.Sprintf("%s %v", label, v)})
		}
		return r
	}
	zero := 0.0
	return Figure{
		Title: "Stacked", Desc: "Two modes.", Legend: "A bar is a mode.", Keys: []string{"copy", "TCP/UDP", "IP", "VXLAN", "bridge", "veth", "netfilter", "a component with a <long> & hostile name", "5 others"},
		Panels: []Panel{
			{Title: "CPU, ms/Gbit", Axis: Axis{Zero: true}, Rows: []Row{bar("host", 38, 15, 4, 0, 0, 4, 0, 2, 11, 1.5), bar("m", 39, 22, 9, 24, 6, 9, 3, 0.1, 20, 4), {Label: "n", Absent: "nothing was sampled"}}},
			{Title: "More than host", Axis: Axis{Ref: &zero, RefTip: "0 = host"}, Rows: []Row{bar("m", 1, 7, 5, 24, 6, 5, 3, -1.9, 9, 2.5)}},
		},
	}
}

func TestGolden(t *testing.T) {
	evil := "<script>alert(1)</script>&\"'\x1b[31m\u202e]]>" + strings.Repeat(" long", 50)
	for name, f := range map[string]Figure{
		"tones": {Title: "Every tone", Desc: "A row of each.", Legend: strings.Repeat("A dot is a block. ", 9), Panels: []Panel{ratios(), {
			Title: "Goodput, Gbit/s", Axis: Axis{Zero: true, Left: "worse", Right: "better"},
			Rows: []Row{row("host", Plain, 23.4, 22.9, 23.9, 23, 23.4, 23.9), row("a/worse", Worse, 16.6, 16.1, 17.2, 16.5, 16.7)},
		}}},
		"log": {Title: "Wide ratios", Panels: []Panel{{
			Axis: Axis{Ratio: true}, Rows: []Row{row("m", Worse, 0.02, 0.01, 0.05, 0.02), row("n", Better, 30, 20, 50, 30)},
		}}},
		"evil": {Title: evil, Desc: evil, Legend: evil, Panels: []Panel{{
			Title: evil, Axis: Axis{Left: evil[:20], RefTip: evil}, Rows: []Row{
				{Heading: evil, Label: evil, Note: evil, Tone: Tone(evil), Absent: evil},
				{Label: evil, Dots: []Dot{{X: 1, Tip: evil}}},
			},
		}}},
		"stack": stack(),
		"empty": {},
	} {
		t.Run(name, func(t *testing.T) {
			got := f.Standalone()
			wellFormed(t, got)
			wellFormed(t, f.Inline("id"))
			golden(t, name+".svg", got)
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	must.File(t, filepath.Join("testdata", name), got, *update)
}

// wellFormed also holds every figure to: no script, no style attribute, no
// address but the namespace, and a title and a description.
func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	seen := map[string]int{}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		must.Do(t, err)
		el, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		seen[el.Name.Local]++
		for _, a := range el.Attr {
			must.True(t, a.Name.Local != "style" && a.Name.Local != "href" && !strings.HasPrefix(a.Name.Local, "on"), "<%s %s=%q>", el.Name.Local, a.Name.Local, a.Value)
			must.True(t, !strings.Contains(a.Value, "NaN") && !strings.Contains(a.Value, "Inf"), "<%s %s=%q>", el.Name.Local, a.Name.Local, a.Value)
		}
	}
	must.True(t, seen["script"] <= 0 && seen["title"] != 0 && seen["desc"] == 1, "elements: %v", seen)
}

// Whatever numbers come, drawing ends, and no coordinate is out of hand.
func TestOddNumbers(t *testing.T) {
	odd := []float64{0, -1, 1, 1e-300, 1e300, math.MaxFloat64, math.NaN(), math.Inf(1), math.Inf(-1)}
	for _, a := range odd {
		for _, b := range odd {
			for _, axis := range []Axis{{}, {Zero: true}, {Ratio: true}, {Ratio: true, Ref: &b, Band: &[2]float64{a, b}}} {
				f := Figure{Panels: []Panel{{Axis: axis, Rows: []Row{row("m", Same, a, b, a, a, b), row("n", Worse, b, a, b)}},
					{Axis: axis, Rows: []Row{{Parts: []Part{{Value: a}, {Key: 99, Value: b}, {Key: -5, Value: a}}}}}}}
				wellFormed(t, f.Inline("x"))
			}
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		log    bool
		want   []string
	}{
		{0, 42, false, []string{"0", "10", "20", "30", "40"}},
		{0.66, 1.1, false, []string{"0.7", "0.8", "0.9", "1.0", "1.1"}},
		{0.98, 1.02, false, []string{"0.98", "0.99", "1.00", "1.01", "1.02"}},
		{0.1, 3, true, []string{"0.1", "0.2", "0.3", "0.5", "0.7", "1", "2", "3"}},
		{0.2, 40, true, []string{"0.2", "0.5", "1", "2", "5", "10", "20"}},
		{0.001, 900, true, []string{"0.001", "0.01", "0.1", "1", "10", "100"}},
		{0, 1e9, false, []string{"0", "200000000", "400000000", "600000000", "800000000", "1000000000"}},
		{0, 1e12, false, []string{"0", "250000000000", "500000000000", "750000000000", "1000000000000"}},
	} {
		var got []string
		for _, k := range (scale{lo: c.lo, hi: c.hi, x1: 400, log: c.log}).ticks() {
			got = append(got, k.label)
		}
		must.EqualFor(t, fmt.Sprint(c.lo, " to ", c.hi), c.want, got)
	}
}

func TestLanes(t *testing.T) {
	s := scale{lo: 0, hi: 400, x1: 400}
	dots := []Dot{{X: 100}, {X: 300}, {X: 100}, {X: 103}, {X: 101}}
	want := []float64{0, 0, -4.5, 0, 4.5}
	must.Equal(t, want, lanes(dots, s))
}

func TestMark(t *testing.T) {
	shapes := map[string]Tone{}
	for _, tone := range []Tone{Plain, Worse, Better, Same, Small, Unsure, Absent} {
		m := Mark(tone)
		wellFormed(t, []byte(strings.Replace(m, ">", "><title/><desc/>", 1)))
		_, drawn, _ := strings.Cut(m, "<path")
		other, ok := shapes[drawn]
		must.True(t, !ok, "%s looks like %s", tone, other)
		shapes[drawn] = tone
	}
}
