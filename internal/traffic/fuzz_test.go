package traffic

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tare/internal/testkit/must"
)

// FuzzDistribution checks that whatever an agent sends as a histogram is an error, or a
// distribution of tare's range that is written and read again with the same quantiles.
func FuzzDistribution(f *testing.F) {
	d := NewDistribution()
	for i := range 1000 {
		d.Record(time.Duration(i) * time.Microsecond)
	}
	for _, hist := range []*hdrhistogram.Histogram{d.hist, NewDistribution().hist, hdrhistogram.New(1, 1<<62, 5), hdrhistogram.New(1, 10, 1)} {
		text := must.Get((&Distribution{hist}).MarshalJSON())(f)
		f.Add(text)
	}
	f.Add([]byte(`"HISTAAAA"`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var got Distribution
		if got.UnmarshalJSON(text) != nil {
			return
		}
		if got.hist.LowestTrackableValue() != histMin || got.hist.HighestTrackableValue() != histMax || got.Count() < 0 {
			t.Fatalf("%d to %d, %d values", got.hist.LowestTrackableValue(), got.hist.HighestTrackableValue(), got.Count())
		}
		var again Distribution
		written, err := json.Marshal(&got)
		if err == nil {
			err = json.Unmarshal(written, &again)
		}
		must.Do(t, err)
		for _, q := range []float64{0, 0.5, 0.99, 1} {
			if a, b := got.Quantile(q), again.Quantile(q); a != b || a < 0 || a > 2*time.Duration(histMax).Seconds() {
				t.Errorf("quantile %g is %g and %g", q, a, b)
			}
		}
		if sum := mergeDistributions(&got, &again); sum.Count() < got.Count() {
			t.Errorf("twice %d values are %d", got.Count(), sum.Count())
		}
	})
}

// A histogram of another range is refused before it is allocated.
func TestDistributionOfAnotherRange(t *testing.T) {
	text := must.Get((&Distribution{hdrhistogram.New(1, 1<<62, 5)}).MarshalJSON())(t)
	if err := new(Distribution).UnmarshalJSON(text); err == nil || !bytes.Contains([]byte(err.Error()), []byte("not one of tare's")) {
		t.Errorf("a histogram of 50 MB: %v", err)
	}
}
