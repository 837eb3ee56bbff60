package export

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"tare/internal/result"
)

// historyColumns are the columns of a history as CSV, in order.
func historyColumns() []string {
	return []string{"study", "hash", "machine", "run", "started", "tare", "mode", "baseline", "workload", "metric", "better",
		"ratio", "ratio_lower", "ratio_upper", "change", "before", "after", "p", "environment", "note"}
}

// HistoryCSV writes one line for each point of each series of a history, by machine, series and
// run, with all digits. The first point after a change has the change's direction, levels and p.
// An unknown value is empty. Its only errors are those of w.
func HistoryCSV(w io.Writer, h result.History) error {
	out := csv.NewWriter(w)
	_ = out.Write(historyColumns()) // errors are kept until the end
	for _, m := range h.Machines {
		for _, s := range m.Series {
			for i, p := range s.Points {
				if p.Run < 0 || p.Run >= len(m.Runs) {
					continue
				}
				r := m.Runs[p.Run]
				started := ""
				if !r.Started.IsZero() {
					started = r.Started.UTC().Format(time.RFC3339Nano)
				}
				environment := ""
				for _, d := range r.Changed {
					environment += "; " + d.Scope + " " + d.Name + ": " + d.Before + " -> " + d.After
				}
				row := []string{h.Study, h.Hash, m.Machine, r.ID, started, r.Build.Version, s.Mode, s.Baseline, s.Workload, s.Metric, string(s.Better),
					digits(&p.Ratio), digits(limit(p.RatioCI, 0)), digits(limit(p.RatioCI, 1))}
				change := []string{"", "", "", ""}
				if at := slices.IndexFunc(s.Changes, func(c result.ChangePoint) bool { return c.Point == i }); at >= 0 {
					c := s.Changes[at]
					change = []string{direction(c), digits(&c.Before), digits(&c.After), digits(&c.P)}
				}
				row = append(row, change...)
				if err := out.Write(append(row, environment[min(2, len(environment)):], r.Note)); err != nil {
					return fmt.Errorf("export: %w", err)
				}
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// direction is in which direction a change went.
func direction(c result.ChangePoint) string {
	if c.Worse {
		return string(result.Worse)
	}
	return string(result.Better)
}

// HistoryOpenMetrics writes a history as OpenMetrics text with the time of each run, for
// `promtool tsdb create-blocks-from openmetrics`: the ratios with their 95 % intervals, the runs,
// the level since the last change, and the changes. A run without a time has no sample, and of
// runs that began in the same millisecond only the first has. Its only errors are those of w.
func HistoryOpenMetrics(w io.Writer, h result.History) error {
	o := timed{exposition{bufio.NewWriter(w)}, h}
	for _, f := range []struct {
		name, help string
		value      func(s result.HistorySeries, i int) *float64
	}{
		{"tare_history_ratio", "Ratio of a mode to its baseline in each run.", func(s result.HistorySeries, i int) *float64 { return &s.Points[i].Ratio }},
		{"tare_history_ratio_lower", "Lower limit of the 95 % interval of the ratio.", func(s result.HistorySeries, i int) *float64 { return limit(s.Points[i].RatioCI, 0) }},
		{"tare_history_ratio_upper", "Upper limit of the 95 % interval of the ratio.", func(s result.HistorySeries, i int) *float64 { return limit(s.Points[i].RatioCI, 1) }},
		{"tare_history_change_ratio", "Level of the ratio after a change over that before it, at the first run after the change.", changeAt},
	} {
		o.family(f.name, f.help)
		for _, m := range h.Machines {
			for _, s := range m.Series {
				o.series(f.name, m, s, f.value)
			}
		}
	}
	o.family("tare_history_run_info", "A run of the history; always 1.")
	for _, m := range h.Machines {
		for _, r := range m.Runs {
			if at, ok := timestamp(r.Started); ok {
				o.at("tare_history_run_info", 1, at, labelsText("study", h.Study, "machine", m.Machine, "run", r.ID, "version", r.Build.Version))
			}
		}
	}
	fmt.Fprintln(o.out, "# EOF")
	if err := o.out.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func changeAt(s result.HistorySeries, i int) *float64 {
	at := slices.IndexFunc(s.Changes, func(c result.ChangePoint) bool { return c.Point == i })
	if at < 0 || !(s.Changes[at].Before > 0) {
		return nil
	}
	v := s.Changes[at].After / s.Changes[at].Before
	return &v
}

// timed is an exposition whose samples have timestamps.
type timed struct {
	exposition
	h result.History
}

// series writes the samples of a series in the order of their times, which the format requires.
func (o timed) series(name string, m result.MachineHistory, s result.HistorySeries, value func(result.HistorySeries, int) *float64) {
	type sample struct {
		at int64
		v  float64
	}
	var all []sample
	for i, p := range s.Points {
		if p.Run < 0 || p.Run >= len(m.Runs) {
			continue
		}
		at, ok := timestamp(m.Runs[p.Run].Started)
		if v := value(s, i); ok && v != nil && !math.IsNaN(*v) {
			all = append(all, sample{at, *v})
		}
	}
	slices.SortStableFunc(all, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
	labels := labelsText("study", o.h.Study, "machine", m.Machine, "mode", s.Mode, "baseline", s.Baseline, "workload", s.Workload, "metric", s.Metric)
	for i, v := range all {
		if i > 0 && v.at == all[i-1].at {
			continue
		}
		o.at(name, v.v, v.at, labels)
	}
}

// at writes one sample at a time in milliseconds, as the format has it: in seconds.
func (o timed) at(name string, v float64, ms int64, labels string) {
	fmt.Fprintf(o.out, "%s %s\n", o.line(name, v, labels), strconv.FormatFloat(float64(ms)/1000, 'f', 3, 64))
}

// timestamp is a time in milliseconds since 1970, and whether it is one that a database takes.
func timestamp(t time.Time) (ms int64, ok bool) {
	ms = t.UnixMilli()
	return ms, !t.IsZero() && ms > 0 && ms < time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
}
