package stats

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/testkit/must"
)

func TestMeans(t *testing.T) {
	type mean func([]float64, float64) (Estimate, error)
	for _, c := range []struct {
		name string
		of   mean
		xs   []float64
		conf float64
		want Estimate
	}{
		{"t.test(1:10) of R", MeanInterval, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.95,
			Estimate{10, 5.5, 3.334149, 7.665851, true}},
		{"t.test(1:10, conf.level = .9) of R", MeanInterval, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.90,
			Estimate{10, 5.5, 3.744928, 7.255072, true}},
		{"zeros are values", MeanInterval, []float64{0, 0, 0}, 0.95, Estimate{3, 0, 0, 0, true}},
		{"constant", MeanInterval, []float64{0.1, 0.1, 0.1}, 0.95, Estimate{3, 0.1, 0.1, 0.1, true}},
		{"one value", MeanInterval, []float64{7}, 0.95, Estimate{N: 1, Value: 7}},
		// ln 2, ln 8: mean ln 4, standard error ln 2, t 12.7062.
		{"geometric", GeoMeanInterval, []float64{2, 8}, 0.95,
			Estimate{2, 4, 4 * math.Exp2(-12.706205), 4 * math.Exp2(12.706205), true}},
		{"geometric, one value", GeoMeanInterval, []float64{7}, 0.95, Estimate{N: 1, Value: 7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := must.Get(c.of(c.xs, c.conf))(t)
			must.Equal(t, c.want, got, cmpopts.EquateApprox(1e-6, 1e-12))
		})
	}
}

func TestMeansRefuse(t *testing.T) {
	for _, c := range []struct {
		xs         []float64
		conf       float64
		arith, geo string
	}{
		{nil, 0.95, "arithmetic mean: no values", "geometric mean: no values"},
		{[]float64{1}, 1, "arithmetic mean: confidence 1 is not within (0, 1)", "geometric mean: confidence 1 is not within (0, 1)"},
		{[]float64{1}, math.NaN(), "arithmetic mean: confidence NaN is not within (0, 1)", "geometric mean: confidence NaN is not within (0, 1)"},
		{[]float64{1, math.NaN()}, 0.95, "arithmetic mean: value 2 is NaN", "geometric mean: value 2 is NaN"},
		{[]float64{math.Inf(1)}, 0.95, "arithmetic mean: value 1 is +Inf", "geometric mean: value 1 is +Inf"},
		{[]float64{1, 0}, 0.95, "", "geometric mean: value 2 is 0, not positive"},
		{[]float64{-1}, 0.95, "", "geometric mean: value 1 is -1, not positive"},
	} {
		_, arith := MeanInterval(c.xs, c.conf)
		_, geo := GeoMeanInterval(c.xs, c.conf)
		must.EqualFor(t, fmt.Sprintf("%v, %g", c.xs, c.conf), []string{c.arith, c.geo}, []string{text(arith), text(geo)})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
