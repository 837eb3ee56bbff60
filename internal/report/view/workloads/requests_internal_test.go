package workloads

import (
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// A workload of HTTP has a line that says what it sends, another has none.
func TestRequests(t *testing.T) {
	run := result.Run{Requests: []result.Requests{{Workload: "web", Settings: []result.Fact{{Name: "streams", Value: "10"}, {Name: "tls", Value: "off"}}}}}
	must.Equal(t, []string{"Requests of web: streams 10, tls off.", ""}, []string{requests(run, "web"), requests(run, "tcp_rr")})
}
