package export

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"tare/internal/analysis/readings"
	"tare/internal/result"
)

// Benchfmt writes the trials that count as Go benchmarks in the format of benchstat
// (https://go.dev/design/14313-benchmark-format): a benchmark for each workload, a line
// for each trial, the mode as configuration, so that
//
//	benchstat -col mode FILE
//
// compares the modes. A unit is the metric's name with its unit, such as rtt_p50-s,
// because a workload has several metrics in seconds. The file states in which direction
// each is better. The blocks are lost: benchstat compares all values with all. Its only
// errors are those of w.
func Benchfmt(w io.Writer, run result.Run, trials []result.Trial) error {
	out := bufio.NewWriter(w)
	t := table{run: run, counts: readings.Counted(run.Modes, trials), metrics: metricsOf(run)}
	told := map[string]bool{}
	fmt.Fprintf(out, "run: %s\ntare: %s\n", oneWord(run.ID), oneWord(run.Tare.Version))
	mode := ""
	for _, i := range t.order(trials) {
		tr := trials[i]
		metrics := t.of(tr)
		if !t.counts[i] || len(metrics) == 0 {
			continue
		}
		for _, m := range metrics {
			if unit := benchUnit(m); !told[unit] && m.Better != "" {
				told[unit] = true
				fmt.Fprintf(out, "Unit %s better=%s\n", unit, m.Better)
			}
		}
		if tr.Mode != mode {
			mode = tr.Mode
			fmt.Fprintf(out, "mode: %s\n", oneWord(mode))
		}
		fmt.Fprintf(out, "BenchmarkTare/workload=%s 1", oneWord(tr.Workload))
		for _, m := range metrics {
			fmt.Fprintf(out, " %s %s", strconv.FormatFloat(tr.Metrics[m.Name], 'g', -1, 64), benchUnit(m))
		}
		fmt.Fprintln(out)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// benchUnit returns a unit that is unique to a metric.
func benchUnit(m result.Metric) string {
	if m.Unit == "" {
		return oneWord(m.Name)
	}
	return oneWord(m.Name + "-" + m.Unit)
}

// oneWord converts text to a single field of the format.
func oneWord(s string) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f || r == 0x85 || r == 0xa0 || r == 0x2028 || r == 0x2029 {
			return '_'
		}
		return r
	}, s)
	if s == "" {
		return "unknown"
	}
	return s
}
