package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/testkit/must"
)

// vaccine is the trials of the BCG vaccine (Colditz et al., JAMA 271, 1994; dat.bcg of metafor) as log relative risks: cases and
// others with the vaccine, and without.
func vaccine() []LogRatio {
	var out []LogRatio
	for _, n := range [][4]float64{{4, 119, 11, 128}, {6, 300, 29, 274}, {3, 228, 11, 209}, {62, 13536, 248, 12619}, {33, 5036, 47, 5761},
		{180, 1361, 372, 1079}, {8, 2537, 10, 619}, {505, 87886, 499, 87892}, {29, 7470, 45, 7232}, {17, 1699, 65, 1600},
		{186, 50448, 141, 27197}, {5, 2493, 3, 2338}, {27, 16886, 29, 17825}} {
		with, without := n[0]+n[1], n[2]+n[3]
		v := 1/n[0] - 1/with + 1/n[2] - 1/without
		out = append(out, LogRatio{N: 4, Mean: math.Log(n[0] / with / (n[2] / without)), SD: math.Sqrt(4 * v)})
	}
	return out
}

// The estimate of Paule and Mandel and the interval of Hartung and Knapp are those of statsmodels 0.15 (combine_effects, method_re
// "pm", use_t), which is verified against metafor.
func TestCombineEffectsVaccine(t *testing.T) {
	r := must.Get(CombineEffects(vaccine()))(t)
	near(t, "between", r.Between, 0.318068, 1e-6)
	near(t, "mean", r.Mean.Mean, -0.714968, 1e-6)
	near(t, "standard error", r.Mean.StdErr(), 0.180892, 1e-6)
	lo, hi, _ := r.Mean.Interval(0.95)
	near(t, "lower limit", math.Log(lo), -1.109098, 1e-6)
	near(t, "upper limit", math.Log(hi), -0.320838, 1e-6)
}

// With the variance of metafor's documentation, which is by REML, the mean and its standard errors are those published there: plain,
// and by Hartung and Knapp. The two estimates of the variance differ by 1.5 %.
func TestWeightedVaccine(t *testing.T) {
	var ys, vs []float64
	for _, u := range vaccine() {
		ys, vs = append(ys, u.Mean), append(vs, u.StdErr()*u.StdErr())
	}
	mean, q, weight := weighted(ys, vs, 0.3132)
	near(t, "mean", mean, -0.7145, 5e-5)
	near(t, "standard error", 1/math.Sqrt(weight), 0.1798, 5e-5)
	near(t, "by Hartung and Knapp", math.Sqrt(q/12/weight), 0.1808, 5e-5)
}

// Units that agree better than their errors predict have the interval of a single true value.
func TestCombineEffectsNotNarrower(t *testing.T) {
	unit := func(mean float64) LogRatio { return LogRatio{N: 9, Mean: mean, SD: 0.03} }
	r := must.Get(CombineEffects([]LogRatio{unit(-0.1), unit(-0.1001), unit(-0.0999)}))(t)
	must.Equal(t, 0.0, r.Between)
	near(t, "standard error", r.Mean.StdErr(), 0.01/math.Sqrt(3), 1e-12)
	near(t, "degrees of freedom", r.Mean.DF, 24, 1e-9)
	_, err := CombineEffects([]LogRatio{unit(0)})
	must.Equal(t, "combine effects: fewer than 2", err.Error())
	_, err = CombineEffects([]LogRatio{unit(0), {N: 1}})
	must.Equal(t, "combine effects: number 2 has no standard error", err.Error())
	two := must.Get(CombineEffects([]LogRatio{unit(0), unit(-0.2)}))(t)
	_, _, ok := two.Predict(0, 0.95)
	must.True(t, !ok, "two units predict a third")
}

// Effects without any error, and extreme ones, end and give numbers.
func TestCombineEffectsExtreme(t *testing.T) {
	for name, units := range map[string][]LogRatio{
		"equal and exact": {{N: 5}, {N: 5}, {N: 5}},
		"exact":           {{N: 5}, {N: 5, Mean: 1}, {N: 5, Mean: 2}},
		"tiny":            {{N: 5, SD: 1e-300}, {N: 5, Mean: 1e-300}, {N: 5, SD: 5e-324}},
		"huge":            {{N: 5, Mean: -700, SD: 1e150}, {N: 5, Mean: 700}, {N: 5, SD: 1}},
	} {
		r := must.Get(CombineEffects(units))(t)
		lo, hi, ok := r.Predict(0, 0.95)
		for _, v := range []float64{r.Between, r.Mean.Mean, r.Mean.SD, r.Mean.P(), lo, hi} {
			must.True(t, !math.IsNaN(v) && ok, "%s: %+v, next %g to %g", name, r, lo, hi)
		}
	}
}

// An effect read back from its interval is the one that made it.
func TestEffectOf(t *testing.T) {
	for _, of := range []LogRatio{{N: 7, Mean: -0.2, SD: 0.03}, {N: 7, Mean: -0.2, SD: 0.03, DF: 2.5}} { // the second of set-ups
		lo, hi, _ := of.Interval(0.95)
		got, ok := EffectOf(of.Ratio(), lo, hi, 7, of.DF)
		must.Require(t, ok && got.N == 7 && got.DF == of.DF, "%+v", got)
		near(t, "mean", got.Mean, of.Mean, 1e-12)
		near(t, "deviation", got.SD, of.SD, 1e-9)
	}
	for _, bad := range [][3]float64{{0, 0, 1}, {1, 0, 2}, {1, 2, 1}, {1, math.NaN(), 2}, {1, 1, math.Inf(1)}} {
		_, ok := EffectOf(bad[0], bad[1], bad[2], 5, 0)
		must.True(t, !ok, "%v is an effect", bad)
	}
	_, ok := EffectOf(1, 0.9, 1.1, 1, 0)
	must.True(t, !ok, "one block has an error")
}

// Of runs of 7 blocks on k machines whose true log ratios vary by 0, 1 and 3 of their standard errors, 95 % intervals of the mean have
// it, and ranges of the next machine what a run measures there. The standard errors are equal, or vary from
// machine to machine by a factor of 1.65 (a log-normal standard deviation of 0.5).
func TestCombineEffectsCoverage(t *testing.T) {
	const runs, blocks = 1500, 7
	slack := 3 * math.Sqrt(0.95*0.05/runs) * 100 // of the simulation
	for _, uneven := range []float64{0, 0.5} {
		for _, k := range []int{3, 5, 10} {
			for _, tau := range []float64{0, 1, 3} {
				rnd := rand.New(rand.NewPCG(uint64(k), uint64(tau)))
				truth, next := 0, 0
				measured := func() LogRatio {
					mu, sd := tau*rnd.NormFloat64(), math.Exp(uneven*rnd.NormFloat64())*math.Sqrt(blocks)
					xs := make([]float64, blocks)
					for i := range xs {
						xs[i] = mu + sd*rnd.NormFloat64()
					}
					m, s := meanSD(xs)
					return LogRatio{N: blocks, Mean: m, SD: s}
				}
				for range runs {
					units := make([]LogRatio, k)
					for i := range units {
						units[i] = measured()
					}
					r := must.Get(CombineEffects(units))(t)
					if math.Abs(r.Mean.Mean) <= r.Mean.logHalfWidth(0.95) {
						truth++
					}
					if lo, hi, ok := r.Predict(0, 0.95); ok {
						if y := measured().Mean; lo <= y && y <= hi {
							next++
						}
					}
				}
				mean, range95 := 100*float64(truth)/runs, 100*float64(next)/runs
				t.Logf("errors vary by %.1f, %2d machines, spread %g errors: mean %.1f %%, next machine %.1f %%", uneven, k, tau, mean, range95)
				most := 97.0
				if tau == 0 { // the interval is never narrower than that of a single true value
					most = 98.5
				}
				must.True(t, mean >= 93-slack && mean <= most+slack && range95 >= 93-slack && range95 <= 97+slack,
					"errors vary by %.1f, %d machines, spread %g: mean %.1f %%, next machine %.1f %%", uneven, k, tau, mean, range95)
			}
		}
	}
}
