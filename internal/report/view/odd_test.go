package view

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode"

	"tare/internal/printable"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// Figures that no run has, and trials without any, are drawn or left out: nothing waits,
// and no number fills the page.
func TestOddFigures(t *testing.T) {
	odd := []float64{0, -1, 1, 5e-324, 1e-300, 1e300, math.MaxFloat64, -math.MaxFloat64}
	for shift := range odd {
		in := reports.Sample()
		next := func(i int) float64 { return odd[(i+shift)%len(odd)] }
		for i := range in.Trials {
			tr := &in.Trials[i]
			tr.Block, tr.Seq = []int{1, -1 << 62, 1 << 62, 0}[(i+shift)%4], -i
			tr.Started = []time.Time{{}, time.Unix(1<<40, 0), time.Unix(-1<<40, 0)}[(i+shift)%3]
			tr.Status = []result.TrialStatus{result.TrialOK, result.TrialInvalid, result.TrialFailed, "odd"}[(i/2+shift)%4]
			tr.Series = &result.Series{Metric: "goodput", Interval: next(i), Values: odd}
			for name := range tr.Metrics {
				tr.Metrics[name] = next(i)
			}
			if i%5 == 0 {
				tr.Metrics = nil
			}
		}
		for i := range in.Run.Cells {
			c := &in.Run.Cells[i]
			c.N = []int{1 << 62, -1 << 62, 0}[(i+shift)%3]
			for j, p := range []*float64{c.Value, c.Ratio, c.P, c.Detectable} {
				if p != nil {
					*p = next(i + j)
				}
			}
			for _, ci := range []*result.Interval{c.CI, c.RatioCI} {
				if ci != nil {
					*ci = result.Interval{next(i), next(i + 3)}
				}
			}
		}
		for name, text := range everything(in) {
			for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsDigit(r) && r != '.' }) {
				must.Require(t, len(word) <= 25, "shift %d: %s holds %s", shift, name, word)
			}
			for _, no := range []string{"NaN", "+Inf", "-Inf"} {
				must.True(t, !strings.Contains(text, no), "shift %d: %s holds %s", shift, name, no)
			}
		}
	}
}

// A name of 10 kB is cut where it is shown, and stays another than one that is nearly
// the same.
func TestLongNames(t *testing.T) {
	in := reports.Sample()
	long := strings.Repeat("long/", 2000)
	rename := map[string]string{"netns/vxlan": long + "1" + long, "netns/published": long + "2" + long}
	to := func(s *string) {
		if n, ok := rename[*s]; ok {
			*s = n
		}
	}
	for i := range in.Run.Modes {
		to(&in.Run.Modes[i].ID)
	}
	for i := range in.Run.Cells {
		to(&in.Run.Cells[i].Mode)
	}
	for i := range in.Trials {
		to(&in.Trials[i].Mode)
		in.Trials[i].Reason = long
	}
	plain := everything(reports.Sample())
	for form, text := range everything(in) {
		must.True(t, len(text) <= len(plain[form])+100*1000, "%s grew from %d to %d bytes", form, len(plain[form]), len(text))
	}
	a, b := printable.Name(rename["netns/vxlan"]), printable.Name(rename["netns/published"])
	must.True(t, a != b && len(a) <= printable.MaxName && printable.Name(a) == a, "%q and %q", a, b)
}
