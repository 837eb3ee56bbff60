package peers

import (
	"strings"
	"testing"
)

// FuzzPeers checks that any output of the generators that tare is compared with is an error or
// numbers that the output has.
func FuzzPeers(f *testing.F) {
	f.Add("megabytes=12.5 real_seconds=2.00 rate_Mbps=50 pkt=100 drop=3\n")
	f.Add("[Valid Duration] RunTime=1.5 sec; SentMessages=9; ReceivedMessages=9\n---> percentile 50.000 = 12.3\n---> percentile 99.900 = 45.6\n")
	f.Add("tcp_lat:\n    latency  =  12345 ns\n")
	f.Add("megabytes=NaN real_seconds=1e999 pkt=-1")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseNuttcp(text, load{size: 1}); err == nil && !strings.Contains(text, "megabytes=") {
			t.Errorf("nuttcp: %q was read", text)
		}
		if a, err := parseSockperf(text); err == nil && (a.p50 < 0 || !strings.Contains(text, "[Valid Duration]")) {
			t.Errorf("sockperf: %+v of %q", a, text)
		}
		if a, err := parseQperf(text); err == nil && (a.rate < 0 || !strings.Contains(text, " ns")) {
			t.Errorf("qperf: %+v of %q", a, text)
		}
	})
}
