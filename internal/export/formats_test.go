package export

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// The real benchstat reads it and finds each mode's geometric means.
func TestReleaseBenchstatReads(t *testing.T) {
	testneed.NotShort(t)
	run, trials := recorded(t)
	var out bytes.Buffer
	must.Do(t, Benchfmt(&out, run, trials))
	file := filepath.Join(t.TempDir(), "run.txt")
	must.Do(t, os.WriteFile(file, out.Bytes(), 0o644))
	cmd := exec.Command("go", "-C", "../../tools", "run", "golang.org/x/perf/cmd/benchstat", "-format", "csv", "-col", "mode", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	table, err := cmd.Output()
	if err != nil {
		t.Fatalf("benchstat: %v\n%s", err, stderr.String())
	}
	for _, m := range run.Modes {
		must.True(t, m.Status != result.ModeMeasured || strings.Contains(string(table), m.ID), "benchstat has no column of %s:\n%s", m.ID, table)
	}
	for _, unit := range []string{"goodput-bit/s", "transaction_rate-1/s"} {
		must.True(t, !strings.Contains(out.String(), unit) || strings.Contains(string(table), unit), "benchstat has no table of %s:\n%s", unit, table)
	}
	must.True(t, !strings.Contains(stderr.String(), "syntax") && !strings.Contains(stderr.String(), "missing"), "benchstat complains: %s", stderr.String())
}

// What promtool checks finds nothing to say, whatever names there are.
func TestOpenMetricsIsClean(t *testing.T) {
	run, _ := recorded(t)
	hostile := run
	hostile.ID = "a\"b\\c\nd\xff"
	hostile.Modes = []result.Mode{{ID: "x\"} 1\n# EOF", Status: result.ModeVoid}}
	every := result.Run{ID: "every"}
	one := 1.
	for _, m := range result.Metrics() {
		every.Cells = append(every.Cells, result.Cell{Mode: "host", Workload: "w", Metric: m.Name, Unit: m.Unit, Value: &one})
	}
	for name, r := range map[string]result.Run{"recorded": run, "hostile": hostile, "every metric": every, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			must.Do(t, OpenMetrics(&out, r, nil))
			text := out.String()
			must.True(t, strings.HasSuffix(text, "\n# EOF\n") && strings.Count(text, "\n# EOF\n") == 1, "it does not end with one # EOF:\n%s", text)
			problems, err := promlint.New(strings.NewReader(text)).Lint()
			if err != nil {
				t.Fatalf("it does not parse: %v\n%s", err, text)
			}
			for _, p := range problems {
				t.Errorf("%s: %s", p.Metric, p.Text)
			}
		})
	}
}

func TestJSONHoldsTheRun(t *testing.T) {
	run, trials := recorded(t)
	var text bytes.Buffer
	must.Do(t, JSON(&text, run, trials))
	var back result.Run
	must.Do(t, json.Unmarshal(text.Bytes(), &back))
	must.Equal(t, run, back)
}
