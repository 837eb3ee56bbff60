package published_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/study/published"
	"tare/internal/testkit/must"
)

func quantity(value float64, unit, text string) *published.Quantity {
	return &published.Quantity{Value: value, Unit: unit, Text: text}
}

func TestParseCondition(t *testing.T) {
	mbit := func(n float64) *published.Level { return &published.Level{Key: "rates", Value: n * 1e6} }
	one := func(c published.Clause) []published.Clause { return []published.Clause{c} }
	for text, want := range map[string][]published.Clause{
		"same":                 one(published.Clause{Kind: published.HoldsSame}),
		"lower":                one(published.Clause{Kind: published.HoldsLower}),
		"order":                one(published.Clause{Kind: published.HoldsOrder}),
		"below 0.7":            one(published.Clause{Kind: published.HoldsWithin, Below: quantity(0.7, "", "0.7")}),
		"above 700Mbit/s":      one(published.Clause{Kind: published.HoldsWithin, Above: quantity(700e6, "bit/s", "700Mbit/s")}),
		"below 51usec":         one(published.Clause{Kind: published.HoldsWithin, Below: quantity(51e-6, "s", "51usec")}),
		"above 2MB/s":          one(published.Clause{Kind: published.HoldsWithin, Above: quantity(16e6, "bit/s", "2MB/s")}),
		"below 5ms":            one(published.Clause{Kind: published.HoldsWithin, Below: quantity(0.005, "s", "5ms")}),
		"between 0.4 and 0.7":  one(published.Clause{Kind: published.HoldsWithin, Above: quantity(0.4, "", "0.4"), Below: quantity(0.7, "", "0.7")}),
		"same from 4 to 16":    one(published.Clause{Kind: published.HoldsSame, From: &published.Level{Value: 4}, To: &published.Level{Value: 16}}),
		"higher from 16flows":  one(published.Clause{Kind: published.HoldsHigher, From: &published.Level{Key: "flows", Value: 16}}),
		"higher to 16 streams": one(published.Clause{Kind: published.HoldsHigher, To: &published.Level{Key: "streams", Value: 16}}),
		"below 0.5% to 700Mbit/s and above 10% from 896Mbit/s": {
			{Kind: published.HoldsWithin, Below: quantity(0.005, "%", "0.5%"), To: mbit(700)},
			{Kind: published.HoldsWithin, Above: quantity(0.1, "%", "10%"), From: mbit(896)},
		},
		"between 1% and 5% to 400Mbit/s and same from 500Mbit/s": {
			{Kind: published.HoldsWithin, Above: quantity(0.01, "%", "1%"), Below: quantity(0.05, "%", "5%"), To: mbit(400)},
			{Kind: published.HoldsSame, From: mbit(500)},
		},
	} {
		got := must.Get(published.ParseCondition(text))(must.Named(t, fmt.Sprintf("%q", text)))
		must.EqualFor(t, text, published.Condition{Clauses: want}, got)
	}
	for _, text := range []string{
		"", "blow 0.7", "below", "below x", "below -1", "below 0", "below 1e3", "above NaN", "between 0.4", "between 0.4 or 0.7", "between 0.7 and 0.4",
		"between 0.4 and 0.4", "between 5ms and 10%", "same and", "same lower", "order and same", "same from", "same from x", "same from 5 to 4", "same to 5 from 4", "below 0.7,",
		"below 99999999999999999999999999999999999999999999999",
	} {
		got, err := published.ParseCondition(text)
		must.True(t, err != nil, "%q is accepted as %q", text, got)
	}
}

func TestConditionRegion(t *testing.T) {
	inf := math.Inf(1)
	at := func(n float64) *published.Level { return &published.Level{Key: "rates", Value: n} }
	for _, tt := range []struct {
		text   string
		at     *published.Level
		lo, hi float64
		ok     bool
	}{
		{"same", nil, 0.8, 1.25, true},
		{"lower", nil, -inf, 1, true},
		{"higher", nil, 1, inf, true},
		{"below 0.7 and above 0.4", nil, 0.4, 0.7, true},
		{"between 0 and 0.7", nil, -inf, 0.7, true},
		{"above 0", nil, 0, inf, true},
		{"below 1% to 700", at(700), -inf, 0.01, true},
		{"below 1% to 700", at(701), -inf, inf, false},
		{"below 1% to 700 and above 2% from 800", at(800), 0.02, inf, true},
		{"below 1% to 16flows", at(4), -inf, inf, false},
		{"below 1% to 700", nil, -inf, inf, false},
	} {
		c := must.Get(published.ParseCondition(tt.text))(t)
		lo, hi, ok := c.Region(tt.at, 0.25)
		must.True(t, lo == tt.lo && hi == tt.hi && ok == tt.ok, "%q at %v: %g to %g, %t", tt.text, tt.at, lo, hi, ok)
	}
}

func TestParsePublished(t *testing.T) {
	for text, want := range map[string]published.Value{
		"0.992":                         {Value: 0.992},
		"0.992 (0.97-1.01)":             {Value: 0.992, Lo: 0.97, Hi: 1.01, HasSpread: true},
		"0.992 (0.97 to 1.01), 10 runs": {Value: 0.992, Lo: 0.97, Hi: 1.01, HasSpread: true},
		"745 Mbit/s (739-750)":          {Value: 745e6, Lo: 739e6, Hi: 750e6, Unit: "bit/s", HasSpread: true},
		"745Mbit/s (739Mbit/s-1Gbit/s)": {Value: 745e6, Lo: 739e6, Hi: 1e9, Unit: "bit/s", HasSpread: true},
		"0.7 Gbits/sec (0.6-0.8)":       {Value: 0.7e9, Lo: 0.6e9, Hi: 0.8e9, Unit: "bit/s", HasSpread: true},
		"2 %":                           {Value: 0.02, Unit: "%"},
		"5 ms; one run":                 {Value: 0.005, Unit: "s"},
		"0.216, 1593 of 7375 Mbit/s":    {Value: 0.216},
	} {
		got, err := published.ParseValue(text)
		diff := cmp.Diff(want, got)
		must.True(t, err == nil && diff == "", "%q: %v (-want +got):\n%s", text, err, diff)
	}
	for _, text := range []string{"", "about 400", "-1", "0.9 (0.8)", "0.9 (1.0-0.8)", "0.9 (0.8-5ms)", "5 ms 3", "NaN", "1e9", "0.9(", "745 Mbit/s (1-2 ms)"} {
		got, err := published.ParseValue(text)
		must.True(t, err != nil, "%q is accepted as %+v", text, got)
	}
}

// FuzzParseCondition feeds ParseCondition anything: what it accepts is the same when written and
// read again, and each clause has a region.
func FuzzParseCondition(f *testing.F) {
	for _, text := range []string{"same", "order", "below 3usec", "between 1% and 5% to 400Mbit/s and same from 500Mbit/s", "lower from 4 flows to 16streams", "below 5ms"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := published.ParseCondition(text)
		if err != nil {
			return
		}
		again, err := published.ParseCondition(c.String())
		diff := cmp.Diff(c, again)
		must.Require(t, err == nil && diff == "", "%q is written as %q: %v (-read +again):\n%s", text, c, err, diff)
		for _, clause := range c.Clauses {
			lo, hi := clause.Region(0.05)
			must.Require(t, clause.Kind == published.HoldsOrder || lo < hi, "%q has the region %g to %g", clause, lo, hi)
		}
	})
}
