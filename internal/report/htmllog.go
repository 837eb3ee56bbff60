package report

import (
	"fmt"
	"strconv"
	"time"

	"tare/internal/report/say"
	"tare/internal/result"
)

// htmlLog is the table of a workload's trials.
type htmlLog struct {
	Workload, Caption string
	Timed             bool
	Heads             []string
	Rows              []logRow
}

// logRow is one trial. At is when it began, in seconds since the run did.
type logRow struct {
	*result.Trial
	Group    int
	At, More string
	Fine     bool
	Cells    []string
}

// newHTMLLog lists the trials of a workload with the metrics that have a column; nil
// where there are none. Of very many it has some, evenly, and those that do not count.
func (v view) newHTMLLog(w workload, begin time.Time, numbers map[string]int) *htmlLog {
	var all []*result.Trial
	for i := range v.Trials {
		if t := &v.Trials[i]; t.Workload == w.ID {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return nil
	}
	l := &htmlLog{Workload: w.ID, Timed: !begin.IsZero(), Caption: say.Count(len(all), "trial", "trials") + " in the order in which they ran"}
	if len(all) > mostLog {
		l.Caption = fmt.Sprintf("%d of %d trials, evenly, in the order in which they ran", mostLog, len(all))
		all = thinned(all, mostLog)
	}
	var columns []table
	for _, t := range w.Tables {
		if !t.Metric.Detail {
			columns = append(columns, t)
			l.Heads = append(l.Heads, t.heading())
		}
	}
	l.Caption += "; trials.ndjson has all that was recorded"
	old := result.Superseded(v.Trials)
	for _, t := range all {
		row := logRow{Trial: t, Group: numbers[t.Mode], At: say.Unknown, Fine: t.Status == result.TrialOK, More: logNote(t, old(t))}
		if !t.Started.IsZero() {
			row.At = strconv.FormatFloat(t.Started.Sub(begin).Seconds(), 'f', 0, 64)
		}
		for _, c := range columns {
			text := say.Unknown
			if x, ok := t.Metrics[c.Metric.Name]; ok {
				text = c.Scale.Number(x)
			}
			row.Cells = append(row.Cells, text)
		}
		l.Rows = append(l.Rows, row)
	}
	return l
}

// logNote is what else a trial was.
func logNote(t *result.Trial, old bool) string {
	text := ""
	for _, n := range []struct {
		is   bool
		text string
	}{{t.Void, "void"}, {t.Pilot, "pilot"}, {t.Profiled, "to sample stacks"}, {old, "run once more"}, {t.Requeued, "the second"}} {
		if n.is {
			text += ", " + n.text
		}
	}
	return text
}
