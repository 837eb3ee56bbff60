package traffic

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/testkit/must"
)

func TestBinCounter(t *testing.T) {
	p := Params{Warmup: time.Second, Duration: 250 * time.Millisecond}
	b := NewBinCounter(p)
	for _, e := range []struct {
		at time.Duration
		n  int64
	}{{0, 1}, {999 * time.Millisecond, 2}, {time.Second, 4}, {1099 * time.Millisecond, 8}, {1100 * time.Millisecond, 16}, {1249 * time.Millisecond, 32}, {1250 * time.Millisecond, 64}} {
		b.Add(e.at, e.n)
	}
	must.True(t, b.Total == 127 && b.Window == 60 && slices.Equal(b.Bins, []int64{12, 16, 32}), "%+v", b)
	must.Equal(t, []float64{240, 320, 1280}, Series(p, []*BinCounter{b, b}))
}

// No count is lost: the window is the sum of its intervals for any times.
func TestBinCounterAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := NewBinCounter(Params{
			Warmup:   time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "warmup")),
			Duration: time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(2*time.Second)).Draw(t, "duration")),
		})
		var total int64
		for _, at := range rapid.SliceOf(rapid.Int64Range(0, int64(4*time.Second))).Draw(t, "times") {
			b.Add(time.Duration(at), 3)
			total += 3
		}
		var sum int64
		for _, n := range b.Bins {
			sum += n
		}
		if b.Total != total || b.Window != sum {
			t.Fatalf("total %d of %d, window %d of %d", b.Total, total, b.Window, sum)
		}
	})
}
