package peers

import (
	"math"
	"testing"
)

// near allows for rounding only.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }

func TestParseLatency(t *testing.T) {
	const sockperf = `sockperf: [Total Run] RunTime=2.000 sec; Warm up time=400 msec; SentMessages=162479; ReceivedMessages=162478
sockperf: [Valid Duration] RunTime=1.550 sec; SentMessages=125766; ReceivedMessages=124000
sockperf: ---> percentile 99.900 =   28.252
sockperf: ---> percentile 50.000 =   12.048
`
	got, err := parseSockperf(sockperf)
	if err != nil || got.rate != 80000 || !near(got.p50, 12.048e-6) || !near(got.p999, 28.252e-6) {
		t.Errorf("sockperf: %+v, %v", got, err)
	}
	if _, err := parseSockperf("sockperf: ERROR: _seqN > m_maxSequenceNo\n"); err == nil {
		t.Error("sockperf without figures: no error")
	}
	got, err = parseQperf("tcp_lat:\n    latency  =  12500 ns\n")
	if err != nil || got.rate != 40000 {
		t.Errorf("qperf: %+v, %v", got, err)
	}
	if _, err := parseQperf("failed to connect"); err == nil {
		t.Error("qperf without figures: no error")
	}
}
