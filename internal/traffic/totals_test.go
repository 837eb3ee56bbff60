package traffic

import (
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Slices are consecutive: seconds and series grow, and the streams stay the same.
func TestReportAdd(t *testing.T) {
	one := Report{End: result.End{Sent: 10}, Traffic: 1, TCP: TCP{Wire: 12, Resent: 2, Received: 1}, Notes: []result.Note{{Code: "a", Text: "b"}}, Window: Window{Seconds: 1, Series: []float64{5}, Interval: 1, Streams: []int64{3, 4}, Slots: 7, Missed: 1}}
	got := one
	got.AddSlice(one)
	want := Report{End: result.End{Sent: 20}, Traffic: 2, TCP: TCP{Wire: 24, Resent: 4, Received: 2}, Notes: []result.Note{{Code: "a", Text: "b"}}, Window: Window{Seconds: 2, Series: []float64{5, 5}, Interval: 1, Streams: []int64{6, 8}, Slots: 14, Missed: 2}}
	must.Equal(t, want, got)
	must.EqualFor(t, "the summand", int64(3), one.Window.Streams[0])
}

// Pairs run at the same time: seconds stay, series are added element by element, and streams are
// counted separately.
func TestSum(t *testing.T) {
	a := Report{End: result.End{Sent: 10}, Traffic: 1, Window: Window{Seconds: 1, Series: []float64{5, 6}, Interval: 1, Streams: []int64{3}}}
	b := Report{End: result.End{Sent: 1}, Traffic: 2, Window: Window{Seconds: 1, Series: []float64{1}, Interval: 1, Streams: []int64{4}}}
	want := Report{End: result.End{Sent: 11}, Traffic: 2, Window: Window{Seconds: 1, Series: []float64{6, 6}, Interval: 1, Streams: []int64{3, 4}}}
	must.Equal(t, want, Sum(a, b))
}
