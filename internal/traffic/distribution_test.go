package traffic

import (
	"math"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/testkit/must"
)

// The distributions of a trial are those of its percentile metrics and agree with them.
func TestDistributions(t *testing.T) {
	rtt, delay := NewDistribution(), NewDistribution()
	for i := range 10000 {
		rtt.Record(time.Duration(20000+i) * time.Nanosecond)
		delay.Record(time.Duration(i) * time.Microsecond)
	}
	client := Report{Window: Window{RTT: rtt, Connect: NewDistribution()}}
	server := Report{Datagrams: &Datagrams{Delay: delay, Variation: NewDistribution()}}
	metrics := map[string]float64{"rtt_p50": rtt.Quantile(0.5), "delay_p50": delay.Quantile(0.5)}
	got := Distributions(Params{}, client, server, metrics)
	must.Require(t, len(got) == 2 && got[0].Of == "rtt" && got[1].Of == "delay", "%+v", got)
	for i, own := range []*Distribution{rtt, delay} {
		must.EqualFor(t, got[i].Of, float64(10000), got[i].Count())
		for _, q := range []float64{0.01, 0.5, 0.99, 1} {
			want, have := own.Quantile(q), got[i].Quantile(q)
			must.True(t, have >= want && math.Abs(have/want-1) <= got[i].Resolution+0.01, "%s: quantile %g is %g, want %g", got[i].Of, q, have, want)
		}
	}
	must.EqualFor(t, "reversed", 1, len(Distributions(Params{Workload: study.Workload{Direction: study.Reverse}}, client, server, metrics)))
	if got := Distributions(Params{}, client, server, nil); got != nil {
		t.Errorf("without percentiles: %+v", got)
	}
}
