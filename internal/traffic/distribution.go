package traffic

import (
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tare/internal/result"
)

// Distribution is a histogram of durations from 100 ns to 100 s with a resolution of 0.1 %.
// Histograms can be added and encoded as JSON. Recording does not allocate. The zero value is not
// usable; a nil Distribution is empty.
type Distribution struct{ hist *hdrhistogram.Histogram }

// Range and resolution of the histogram.
const (
	histMin    = 100
	histMax    = int64(100 * time.Second)
	histDigits = 3
)

// NewDistribution returns an empty Distribution.
func NewDistribution() *Distribution {
	return &Distribution{hdrhistogram.New(histMin, histMax, histDigits)}
}

// Record adds a duration. A duration outside the range counts as the nearest bound.
func (d *Distribution) Record(v time.Duration) {
	// RecordValue cannot fail within the range.
	_ = d.hist.RecordValue(min(max(int64(v), 0), histMax))
}

// Add adds all durations of e.
func (d *Distribution) Add(e *Distribution) {
	if e != nil {
		d.hist.Merge(e.hist)
	}
}

// Count returns the number of durations.
func (d *Distribution) Count() int64 {
	if d == nil {
		return 0
	}
	return d.hist.TotalCount()
}

// Quantile returns the smallest recorded duration that the share q (0 to 1) of all durations does
// not exceed, in seconds, with a resolution of 0.1 %. It is 0 if there are none; check Count first.
func (d *Distribution) Quantile(q float64) float64 {
	if d.Count() == 0 {
		return 0
	}
	return float64(d.hist.ValueAtQuantile(q*100)) / 1e9
}

// AddPercentiles sets the metrics that are quantiles of times such as rtt, as result.Percentiles lists them. Without times they are unknown,
// not 0.
func (d *Distribution) AddPercentiles(metrics map[string]float64, times string) {
	if d.Count() == 0 {
		return
	}
	for name, q := range result.Percentiles(times) {
		metrics[name] = d.Quantile(q)
	}
}

// MarshalJSON encodes HdrHistogram's compressed format (V2) as base64.
func (d *Distribution) MarshalJSON() ([]byte, error) {
	b, err := d.hist.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("encode distribution: %w", err)
	}
	return json.Marshal(string(b))
}

// UnmarshalJSON decodes what MarshalJSON encoded.
func (d *Distribution) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("decode distribution: %w", err)
	}
	if err := checkRange(s); err != nil {
		return fmt.Errorf("decode distribution: %w", err)
	}
	h, err := hdrhistogram.Decode([]byte(s))
	if err != nil {
		return fmt.Errorf("decode distribution: %w", err)
	}
	d.hist = h
	return nil
}

// checkRange returns an error unless an encoded histogram has the range and the resolution of a
// Distribution. A histogram takes the memory that these two need, 50 MB for the widest, however few
// values it has, and an agent of a hostile container may send any.
func checkRange(encoded string) error {
	const envelope = 8 // cookie and length of the compressed part
	r := base64.NewDecoder(base64.StdEncoding, strings.NewReader(encoded))
	if _, err := io.CopyN(io.Discard, r, envelope); err != nil {
		return err
	}
	z, err := zlib.NewReader(r)
	if err != nil {
		return err
	}
	defer z.Close()
	var header struct {
		Cookie, Length, Offset, Digits int32
		Min, Max                       int64
	}
	if err := binary.Read(z, binary.BigEndian, &header); err != nil {
		return err
	}
	if header.Digits != histDigits || header.Min != histMin || header.Max != histMax {
		return fmt.Errorf("it is a histogram from %d to %d with %d digits, not one of tare's", header.Min, header.Max, header.Digits)
	}
	return nil
}

// mergeDistributions returns the sum of two distributions. Either may be nil.
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

// Distributions returns the distributions of those durations whose percentiles are among the
// trial's metrics: round trips, times to connect and to the first byte, one-way delays. External
// tools have none.
func Distributions(p Params, client, server Report, metrics map[string]float64) []result.Distribution {
	receiver := server
	if p.Reverse() {
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

// durations returns the recorded durations in seconds, at the resolution of the histogram, with the
// count of each.
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
