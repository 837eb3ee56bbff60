package peers

import (
	"testing"

	"tare/internal/testkit/must"
)

func TestWrkRate(t *testing.T) {
	const out = `Running 1s test @ http://198.18.0.2:40123/
  1 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   412.83us   83.68us   2.18ms   96.36%
    Req/Sec    77.24k     4.60k   82.44k    80.00%
  76780 requests in 1.00s, 91.89MB read
`
	must.Equal(t, 76780.0, must.Get(wrkRate(out+"Requests/sec:  76739.15\n"))(t))
	for text, why := range map[string]string{
		"":                                      "no number of requests",
		out + "  Non-2xx or 3xx responses: 3\n": "Non-2xx or 3xx responses: 3",
		out + "  Socket errors: connect 0, read 1, write 0, timeout 0\n": "Socket errors",
		"  0 requests in 1.00s, 0.00B read\n":                            "0 requests in 1 s",
		"  5 requests in 0.00s, 0.00B read\n":                            "5 requests in 0 s",
	} {
		_, err := wrkRate(text)
		must.Fail(t, err, why)
	}
}
