package sheet

import (
	"math"
	"testing"

	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

func TestThinned(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	must.Equal(t, []int{0, 3, 6, 9}, piece.Downsampled(all, 4))
	must.Equal(t, []any{10, 10}, []any{len(piece.Downsampled(all, 10)), len(piece.Downsampled(all, 1))})
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
	must.Equal(t, []any{MostDots, 999.0, 0.0, 20}, []any{len(few), hi, lo, out})
}
