package traffic

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tare/internal/result"
)

// Distribution is a histogram of durations, 0.1 % fine from 100 ns to 100 s,
// that adds up and travels. Recording allocates nothing. The zero value is not
// usable; a nil one is empty.
type Distribution struct{ hist *hdrhistogram.Histogram }

// The histogram's range and resolution.
const (
	histMin    = 100
	histMax    = int64(100 * time.Second)
	histDigits = 3
)

// NewDistribution is an empty one.
func NewDistribution() *Distribution {
	return &Distribution{hdrhistogram.New(histMin, histMax, histDigits)}
}

// Record adds a duration; one beyond the range counts as its bound.
func (d *Distribution) Record(v time.Duration) {
	// In range, RecordValue cannot fail.
	_ = d.hist.RecordValue(min(max(int64(v), 0), histMax))
}

// Add adds all that e holds.
func (d *Distribution) Add(e *Distribution) {
	if e != nil {
		d.hist.Merge(e.hist)
	}
}

// Count is how many durations it holds.
func (d *Distribution) Count() int64 {
	if d == nil {
		return 0
	}
	return d.hist.TotalCount()
}

// Quantile is the least recorded duration that a share q of 0..1 of all does not
// exceed, in seconds, to 0.1 %. Without any record it is 0: look at Count first.
func (d *Distribution) Quantile(q float64) float64 {
	if d.Count() == 0 {
		return 0
	}
	return float64(d.hist.ValueAtQuantile(q*100)) / 1e9
}

// Max is the longest in seconds.
func (d *Distribution) Max() float64 { return d.Quantile(1) }

// MarshalJSON writes HdrHistogram's own compressed form (V2), base64.
func (d *Distribution) MarshalJSON() ([]byte, error) {
	b, err := d.hist.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("encode distribution: %w", err)
	}
	return json.Marshal(string(b))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Distribution) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("decode distribution: %w", err)
	}
	h, err := hdrhistogram.Decode([]byte(s))
	if err != nil {
		return fmt.Errorf("decode distribution: %w", err)
	}
	d.hist = h
	return nil
}

// mergeDistributions is the sum of two, either of which may be nil.
func mergeDistributions(a, b *Distribution) *Distribution {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	sum := NewDistribution()
	sum.Add(a)
	sum.Add(b)
	return sum
}

// Distributions are those of the durations of which a trial has percentiles among its
// metrics: round trips, times to connect and to the first byte, one-way delays. An
// external tool tells none.
func Distributions(p Params, client, server Report, metrics map[string]float64) []result.Distribution {
	receiver := server
	if p.Reverse {
		receiver = client
	}
	own := []struct {
		of   string
		hist *Distribution
	}{{"rtt", client.Window.RTT}, {"connect", client.Window.Connect}, {"first_byte", client.Window.FirstByte}}
	if d := receiver.Datagrams; d != nil {
		own = append(own, []struct {
			of   string
			hist *Distribution
		}{{"delay", d.Delay}, {"delay_variation", d.Variation}}...)
	}
	var out []result.Distribution
	for _, d := range own {
		if _, known := metrics[d.of+"_p50"]; !known {
			continue
		}
		if found := result.Distribute(d.of, d.hist.durations()); found != nil {
			out = append(out, *found)
		}
	}
	return out
}

// durations are the recorded durations, in seconds and as coarse as the histogram, with
// how many there are of each.
func (d *Distribution) durations() map[float64]int64 {
	out := map[float64]int64{}
	if d.Count() == 0 {
		return out
	}
	for _, bar := range d.hist.Distribution() {
		if bar.Count > 0 {
			out[float64(bar.To)/1e9] += bar.Count
		}
	}
	return out
}
