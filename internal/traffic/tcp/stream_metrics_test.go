package tcp

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

func TestStreamMetrics(t *testing.T) {
	t.Parallel()
	three, four := int64(3), int64(4)
	sender := traffic.Report{End: result.End{Retransmits: &three}, Window: traffic.Window{Seconds: 2, Sent: 1000, Streams: []int64{600, 400}}}
	receiver := traffic.Report{Window: traffic.Window{Seconds: 2, Received: 800, Series: []float64{300, 500}, Interval: 1, Streams: []int64{600, 200}}}
	mixed := traffic.Report{End: result.End{Retransmits: &four}, Window: traffic.Window{Seconds: 2, Sent: 500, Received: 400, Series: []float64{100, 300}, Interval: 1, Streams: []int64{200, 200}}}
	blind := mixed
	blind.Retransmits = nil
	both := receiver
	both.Window.Sent, both.Retransmits = 1000, &three
	for what, c := range map[string]struct {
		p              traffic.Params
		client, server traffic.Report
		want           map[string]float64
		series         []float64
	}{
		"forward": {traffic.Params{}, sender, receiver, map[string]float64{"goodput": 3200, "send_rate": 4000, "retransmits": 3, "fairness": 0.8}, []float64{2400, 4000}},
		"reverse": {traffic.Params{Workload: study.Workload{Direction: study.Reverse}}, receiver, sender, map[string]float64{"goodput": 3200, "send_rate": 4000, "retransmits": 3, "fairness": 0.8}, []float64{2400, 4000}},
		"both": {traffic.Params{Workload: study.Workload{Direction: study.Both}}, both, mixed, map[string]float64{"goodput": 4800, "goodput_forward": 1600, "goodput_reverse": 3200,
			"send_rate": 6000, "retransmits": 7, "fairness": 0.75}, []float64{3200, 6400}},
		"both directions, one endpoint without counters": {traffic.Params{Workload: study.Workload{Direction: study.Both}}, both, blind, map[string]float64{"goodput": 4800, "goodput_forward": 1600, "goodput_reverse": 3200,
			"send_rate": 6000, "fairness": 0.75}, []float64{3200, 6400}},
	} {
		m, series := stream{}.Metrics(c.p, c.client, c.server)
		must.EqualFor(t, what, c.want, m)
		must.EqualFor(t, fmt.Sprintf("%s: series %+v", what, series), []any{"", "goodput", float64(1)}, []any{cmp.Diff(c.series, series.Values), series.Metric, series.Interval})
	}
}

func TestFairness(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		streams []int64
		want    float64
		known   bool
	}{
		{[]int64{5, 5, 5, 5}, 1, true},
		{[]int64{5, 0, 0, 0}, 0.25, true},
		{[]int64{1, 3}, 0.8, true},
		{[]int64{0, 0}, 0, false},
		{nil, 0, false},
	} {
		got, known := fairness(c.streams)
		must.True(t, known == c.known && math.Abs(got-c.want) <= 1e-12, "%v: %g, %t", c.streams, got, known)
	}
}
