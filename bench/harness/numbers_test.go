package harness

import (
	"math"
	"testing"

	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/testkit/must"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		got, want float64
	}{
		{Median([]float64{3, 1, 2}), 2},
		{Median([]float64{4, 1, 2, 3}), 2.5},
		{CV([]float64{1, 3}), math.Sqrt2 / 2},
		{HalfWidth(result.Cell{Judgement: result.Judgement{RatioCI: &result.Interval{1, 4}}}), 1},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%g, want %g", c.got, c.want)
		}
	}
	if !math.IsNaN(Median(nil)) || !math.IsNaN(HalfWidth(result.Cell{})) {
		t.Error("a median of nothing, or the width of no interval, is a number")
	}
}

func TestFigures(t *testing.T) {
	ratio := 0.95
	for _, c := range []struct{ got, want string }{
		{Interval(stats.Estimate{Value: 1.25}, 3), "1.250"},
		{Interval(stats.Estimate{Value: 1.25, Lo: 1, Hi: 1.5, HasInterval: true}, 2), "1.25 (1.00-1.50)"},
		{Ratio(result.Cell{Judgement: result.Judgement{Ratio: &ratio, RatioCI: &result.Interval{0.9, 1}}}, 4), "0.9500 (0.9000-1.0000)"},
		{Spread([]float64{10, 30, 20}), "20 (10-30)"},
	} {
		must.Equal(t, c.want, c.got)
	}
}

func ExampleColumns() {
	Columns("mode", "ratio (95 %)")
	// Output:
	// | mode | ratio (95 %) |
	// |---|---|
}
