package report

import (
	"bytes"
	"testing"

	"tare/internal/analysis/sums"
	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/synthetic"
)

// A report stays small enough to be opened and sent, however many trials there were:
// under 500 kB for a run of the standard profile, under 2 MB for 20 000 trials.
func TestSize(t *testing.T) {
	for _, c := range []struct {
		name  string
		shape synthetic.Shape
		most  int
	}{{"standard", synthetic.Standard(), 500e3}, {"huge", synthetic.Huge(), 2e6}} {
		t.Run(c.name, func(t *testing.T) {
			run := c.shape.Run()
			var trials []result.Trial
			for tr := range c.shape.Each() {
				trials = append(trials, tr)
			}
			run.Cells, _ = verdict.Cells(run.Modes, synthetic.Workloads(), trials, verdict.Rule{Margin: 0.05})
			run.ECDFs = sums.ECDFs(run.Modes, synthetic.Workloads(), trials)
			p := Prepare(Input{Run: run, Trials: trials})
			var page, text bytes.Buffer
			must.Do(t, p.HTML(&page))
			must.Do(t, p.Markdown(&text))
			t.Logf("%d trials: %d bytes of HTML, %d of Markdown", len(trials), page.Len(), text.Len())
			must.True(t, page.Len() <= c.most && text.Len() <= 500e3, "%d bytes of HTML, at most %d; %d of Markdown", page.Len(), c.most, text.Len())
			figures := must.Get(p.Figures())(t)
			for name, svg := range figures {
				must.True(t, len(svg) <= 400e3, "%s has %d bytes", name, len(svg))
			}
		})
	}
}
