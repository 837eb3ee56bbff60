package sheet

import (
	"fmt"
	"strconv"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// MostLog is how many rows a table of trials has.
const MostLog = 600

// Log lists the trials of a workload with the metrics that have a column; nothing where
// there are none. Of very many it has some, evenly, and those that do not count.
func Log(b *model.Builder, w model.Workload) []doc.Block {
	var all []*result.Trial
	for i := range b.Trials {
		if t := &b.Trials[i]; t.Workload == w.ID {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return nil
	}
	caption := wording.Count(len(all), "trial", "trials") + " in the order in which they ran"
	if len(all) > MostLog {
		caption = fmt.Sprintf("%d of %d trials, evenly, in the order in which they ran", MostLog, len(all))
		all = piece.Downsampled(all, MostLog)
	}
	timed := !b.Begin.IsZero()
	t := doc.Table{Kind: doc.Trials, Label: "Every trial of " + w.ID, Caption: caption + "; trials.ndjson has all that was recorded",
		Columns: []doc.Column{{Head: "Trial", Row: true, Number: true}, {Head: "Block", Number: true}}, Groups: make([]doc.Group, 1)}
	if timed {
		t.Columns = append(t.Columns, doc.Column{Head: "At, s", Number: true})
	}
	t.Columns = append(t.Columns, doc.Column{Head: "Mode", Names: true}, doc.Column{Head: "Status"})
	var metrics []model.Table
	for _, m := range w.Tables {
		if !m.Metric.Detail {
			metrics = append(metrics, m)
			t.Columns = append(t.Columns, doc.Column{Head: m.Heading(), Number: true})
		}
	}
	old := result.Superseded(b.Trials)
	for _, trial := range all {
		row := doc.Row{Group: b.Numbers[trial.Mode], Cells: []doc.Cell{{Text: strconv.Itoa(trial.Seq)}, {Text: strconv.Itoa(trial.Block)}}}
		if timed {
			row.Cells = append(row.Cells, doc.Cell{Text: at(b, trial)})
		}
		status := doc.Cell{Text: "ok" + logNote(trial, old(trial))}
		if trial.Status != result.TrialOK {
			status = doc.Cell{Strong: string(trial.Status), Text: logNote(trial, old(trial))}
		}
		row.Cells = append(row.Cells, doc.Cell{Text: trial.Mode}, status)
		for _, m := range metrics {
			text := wording.Unknown
			if x, ok := trial.Metrics[m.Metric.Name]; ok {
				text = m.Scale.Number(x)
			}
			row.Cells = append(row.Cells, doc.Cell{Text: text})
		}
		t.Groups[0].Rows = append(t.Groups[0].Rows, row)
	}
	return []doc.Block{doc.Details{Look: "trials", Summary: "Every trial of ", Name: w.ID, Blocks: []doc.Block{t}}}
}

// at is when a trial began, in seconds since the run did.
func at(b *model.Builder, t *result.Trial) string {
	if t.Started.IsZero() {
		return wording.Unknown
	}
	return strconv.FormatFloat(t.Started.Sub(b.Begin).Seconds(), 'f', 0, 64)
}

// logNote is what else a trial was.
func logNote(t *result.Trial, old bool) string {
	text := ""
	for _, n := range []struct {
		is   bool
		text string
	}{{t.Void, "void"}, {t.Pilot, "pilot"}, {t.Paces, "to find a rate"}, {t.TailRate > 0, "of the tail pass"}, {t.Profiled, "to sample stacks"}, {old, "run once more"}, {t.Requeued, "the second"}} {
		if n.is {
			text += ", " + n.text
		}
	}
	return text
}
