package export

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// FuzzFormats checks that whatever names and values a run has, each format stays well-formed: as
// many records, benchmarks and samples as there are values, none of them from a name.
func FuzzFormats(f *testing.F) {
	f.Add("host", "tcp_stream", "goodput", "a reason", 9.4e9)
	f.Add("x\"} 1\n# EOF", "a,b\"\r\nc", "m\x00\n", "=cmd()\x1b[31m", -1e308)
	f.Add("\u2028\u0085mode: x", "Benchmark 1 5", "a b", "\xff", 5e-324)
	f.Fuzz(func(t *testing.T, mode, workload, metric, reason string, value float64) {
		run := result.Run{Schema: result.Schema, ID: reason, Modes: []result.Mode{{ID: mode, Status: result.ModeMeasured}}, Tare: result.Build{Version: reason}}
		run.Cells = []result.Cell{{Mode: mode, Workload: workload, Metric: metric, Unit: reason, Value: &value, Judgement: result.Judgement{Verdict: result.Verdict(reason)}}}
		trial := result.Trial{Schema: result.TrialSchema, Mode: mode, Workload: workload, Block: 1, Attempt: 1, Status: result.TrialOK, Metrics: map[string]float64{metric: value}}
		lost := trial
		lost.Block, lost.Status, lost.Reason = 2, result.TrialFailed, reason
		trials := []result.Trial{trial, lost}
		out := map[string]string{}
		for _, format := range All() {
			var b bytes.Buffer
			if err := format.Write(&b, run, trials); err != nil {
				if format.Name == "json" || format.Name == "md" {
					continue // a value that is no number
				}
				t.Fatalf("%s: %v", format.Name, err)
			}
			out[format.Name] = b.String()
		}
		records, err := csv.NewReader(strings.NewReader(out["csv"])).ReadAll()
		must.True(t, err == nil && len(records) <= 3, "csv: %v, %d records", err, len(records))
		for _, r := range records {
			must.EqualFor(t, "csv", len(columns()), len(r))
		}
		if n := strings.Count("\n"+out["benchfmt"], "\nBenchmark"); n > 1 {
			t.Errorf("benchfmt: %d benchmarks of one trial:\n%s", n, out["benchfmt"])
		}
		if text := out["openmetrics"]; !strings.HasSuffix(text, "# EOF\n") || strings.Count("\n"+text, "\n# EOF") != 1 {
			t.Errorf("openmetrics: it does not end with one # EOF:\n%s", text)
		} else if _, err := promlint.New(strings.NewReader(text)).Lint(); err != nil {
			t.Errorf("openmetrics: %v:\n%s", err, text)
		}
	})
}
