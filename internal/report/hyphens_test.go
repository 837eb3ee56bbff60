package report_test

import (
	"bytes"
	"testing"

	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// A browser breaks lines after hyphens: no interval and no option of a command has one where it may.
func TestHyphensAreKept(t *testing.T) {
	page := func(in report.Input) string {
		var b bytes.Buffer
		must.Do(t, report.HTML(&b, in))
		return b.String()
	}
	in := reports.Sample()
	must.Contain(t, page(in), `ratios hold for these; <span class="nb">--sensitivity</span> measures`)
	in.Run.Sensitivity = []result.Sensitivity{{Mode: "netns/vxlan", Baseline: "host", Workload: "tcp_stream", Metric: "goodput", Low: 0.58, High: 0.66,
		Settings: []result.SensitivityPoint{{Setting: "one core", Ratio: 0.66, CI: &result.Interval{0.64, 0.68}, Blocks: 7}, {Setting: "two cores", Ratio: 0.58, CI: &result.Interval{0.55, 0.6}, Blocks: 4}}}}
	must.Contain(t, page(in), "one core: 0.66\u00a0(0.64\u20110.68) in 7 blocks")
	in.Run.Noisy = "--x <b>--full</b>"
	must.Contain(t, page(in), `<span class="nb">--x</span> &lt;b&gt;<span class="nb">--full</span>&lt;/b&gt;`)
}
