package export

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Every gauge that the dashboard asks for is one that an export can have, and every
// label too.
func TestDashboardAsksForWhatThereIs(t *testing.T) {
	src := must.Get(os.ReadFile("../../docs/grafana/tare.json"))(t)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	must.Do(t, json.Unmarshal(src, &dashboard))
	one := 1.
	run := result.Run{ID: "x", Modes: []result.Mode{{ID: "m", Status: result.ModeVoid}}}
	for _, m := range result.Metrics() {
		run.Cells = append(run.Cells, result.Cell{Mode: "m", Workload: "w", Metric: m.Name, Unit: m.Unit, Value: &one, Baseline: "b", Judgement: result.Judgement{Ratio: &one, RatioCI: &result.Interval{1, 1}, Verdict: result.Worse}})
	}
	var out bytes.Buffer
	must.Do(t, OpenMetrics(&out, run, nil))
	text := out.String()
	asked := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`tare_[a-z0-9_]+`).FindAllString(target.Expr, -1) {
				asked++
				must.True(t, strings.Contains(text, "# TYPE "+name+" gauge") || strings.Contains(text, "# TYPE "+name+"lower gauge"), "%s: no export has %s", p.Title, name)
			}
			for _, label := range regexp.MustCompile(`[{,]([a-z]+)[!=]`).FindAllStringSubmatch(target.Expr, -1) {
				must.True(t, strings.Contains(text, label[1]+`="`), "%s: no sample has a label %s", p.Title, label[1])
			}
			if m := regexp.MustCompile(`metric="([a-z_0-9]+)"`).FindStringSubmatch(target.Expr); m != nil {
				if _, known := result.MetricNamed(m[1]); !known {
					t.Errorf("%s: there is no metric %s", p.Title, m[1])
				}
			}
		}
	}
	must.True(t, asked >= 8, "the dashboard asks for %d gauges", asked)
}
