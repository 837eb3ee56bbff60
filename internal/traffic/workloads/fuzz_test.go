package workloads

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
	"tare/internal/traffic"
)

// FuzzReports checks that the metrics of every workload can be computed from any two reports of
// agents, and have only names that are registered. That they are possible is checked by the runner.
func FuzzReports(f *testing.F) {
	const report = `{"bytes_sent":1000,"bytes_received":1000,"messages":5,"window":{"seconds":1,"sent":900,"received":900,"messages":5,"series":[1,2],"interval":0.1,"streams":[900]},"mss":1448,`
	f.Add([]byte(report+`"datagrams":{"flows":[{"sent":5,"received":5}]}}`), []byte(report+`"datagrams":{"flows":[{"sent":5,"received":4}]}}`), false, false)
	f.Add([]byte(report+`"datagrams":{"flows":null}}`), []byte(report+`"datagrams":null}`), true, false)
	f.Add([]byte(`{"window":{"seconds":-1e308,"series":[1e308,1e308],"streams":[-9223372036854775808]}}`), []byte(`{"bytes_sent":-1,"datagrams":{"flows":[{},{}]}}`), false, true)
	f.Add([]byte(`{}`), []byte(`{}`), true, true)
	f.Fuzz(func(t *testing.T, one, other []byte, reverse, both bool) {
		var client, server traffic.Report
		if json.Unmarshal(one, &client) != nil || json.Unmarshal(other, &server) != nil {
			return
		}
		known := result.Metrics()
		for _, w := range All() {
			p := traffic.Params{Workload: study.Workload{Kind: w.Spec().Kind, Streams: 1, WriteSize: 1000, Direction: studytest.Direction(reverse), Rate: 1e6}, Duration: time.Second}
			if both {
				p.Direction = study.Both
			}
			metrics, _ := w.Metrics(p, client, server)
			for name := range metrics {
				must.True(t, slices.ContainsFunc(known, func(m result.Metric) bool { return m.Name == name }), "%s gives %q, which is no metric", p.Kind, name)
			}
			traffic.Distributions(p, client, server, metrics)
		}
		if sum := traffic.Sum(client, server); len(sum.Window.Streams) != len(client.Window.Streams)+len(server.Window.Streams) {
			t.Errorf("%d streams of %d and %d", len(sum.Window.Streams), len(client.Window.Streams), len(server.Window.Streams))
		}
		traffic.Concat(client, server)
	})
}
