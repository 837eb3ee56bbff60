package export

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/result"
)

// OpenMetrics writes the cells of a run as OpenMetrics text, which Prometheus and the
// textfile collector of its node exporter read: a gauge for each metric in its base unit,
// the ratios to the baseline with their 95 % intervals, the verdicts, and the status of
// modes and trials. An unknown value has no sample. Its only errors are those of w.
func OpenMetrics(w io.Writer, run result.Run, _ []result.Trial) error {
	o := exposition{out: bufio.NewWriter(w)}
	o.family("tare_run_info", "Properties of the run; always 1.")
	o.sample("tare_run_info", 1, "run", run.ID, "profile", run.Profile, "status", string(run.Status), "version", run.Tare.Version)
	if !run.Started.IsZero() {
		o.family("tare_run_start_time_seconds", "Start time of the run, in seconds since 1970.")
		o.sample("tare_run_start_time_seconds", float64(run.Started.UnixMilli())/1000, "run", run.ID)
	}
	o.family("tare_trials", "Trials of the run by status.")
	for _, t := range []struct {
		status string
		n      int
	}{{"ok", run.Trials.OK}, {"invalid", run.Trials.Invalid}, {"failed", run.Trials.Failed}} {
		o.sample("tare_trials", float64(t.n), "run", run.ID, "status", t.status)
	}
	o.family("tare_mode_status", "Status of a mode: 1 for the one it has.")
	for _, m := range run.Modes {
		o.sample("tare_mode_status", 1, "run", run.ID, "mode", m.ID, "status", string(m.Status))
	}
	o.values(run)
	o.ratios(run)
	o.verdicts(run)
	fmt.Fprintln(o.out, "# EOF")
	if err := o.out.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// exposition writes families of samples.
type exposition struct{ out *bufio.Writer }

func (o exposition) family(name, help string) {
	fmt.Fprintf(o.out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
}

// sample writes one sample; labels are alternating names and values.
func (o exposition) sample(name string, v float64, labels ...string) {
	fmt.Fprintln(o.out, o.line(name, v, labelsText(labels...)))
}

// line is a sample without its time.
func (exposition) line(name string, v float64, labels string) string {
	return name + "{" + labels + "} " + strconv.FormatFloat(v, 'g', -1, 64)
}

// labelsText is the text of labels, which are alternating names and values.
func labelsText(labels ...string) string {
	var ls []string
	for i := 0; i+1 < len(labels); i += 2 {
		ls = append(ls, labels[i]+`="`+labelEscapes.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD"))+`"`)
	}
	return strings.Join(ls, ",")
}

// labelEscapes escapes the special characters of the format.
var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func (o exposition) values(run result.Run) {
	for _, m := range metricsOf(run) {
		name, scale := gauge(m)
		first := true
		for _, c := range run.Cells {
			if c.Metric != m.Name || c.Value == nil || math.IsNaN(*c.Value) {
				continue
			}
			if first {
				o.family(name, helpOf(m))
				first = false
			}
			o.sample(name, *c.Value*scale, "run", run.ID, "mode", c.Mode, "workload", c.Workload)
		}
	}
}

func helpOf(m result.Metric) string {
	title := m.Title
	if title == "" {
		title = m.Name
	}
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(title) + ", the mean over the trials of the run."
}

// gauge is the Prometheus name of a metric, in words with the unit last, and the factor
// for its values: Prometheus' base unit of payload is the byte.
func gauge(m result.Metric) (name string, scale float64) {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(m.Name))
	scale = 1
	units := map[string]struct {
		word  string
		scale float64
	}{
		"bit/s": {"bytes_per_second", 1. / 8}, "s/Gbit": {"seconds_per_byte", 8e-9}, "1/s": {"per_second", 1}, "s": {"seconds", 1},
		"s/1000 transactions": {"seconds_per_transaction", 1e-3}, "s/1000 connections": {"seconds_per_connection", 1e-3}, "CPUs": {"cores", 1},
	}
	if unit, known := units[m.Unit]; known {
		name, scale = name+"_"+unit.word, unit.scale
	}
	return "tare_" + name, scale
}

func (o exposition) ratios(run result.Run) {
	for _, f := range []struct {
		name, help string
		value      func(c result.Cell) *float64
	}{
		{"tare_baseline_ratio", "Ratio of a mode to its baseline, the mean over the blocks of the run.", func(c result.Cell) *float64 { return c.Ratio }},
		{"tare_baseline_ratio_lower", "Lower limit of the 95 % interval of the ratio.", func(c result.Cell) *float64 { return limit(c.RatioCI, 0) }},
		{"tare_baseline_ratio_upper", "Upper limit of the 95 % interval of the ratio.", func(c result.Cell) *float64 { return limit(c.RatioCI, 1) }},
	} {
		o.family(f.name, f.help)
		for _, c := range run.Cells {
			if v := f.value(c); v != nil {
				o.sample(f.name, *v, "run", run.ID, "mode", c.Mode, "workload", c.Workload, "metric", c.Metric, "baseline", c.Baseline)
			}
		}
	}
}

func limit(ci *result.Interval, i int) *float64 {
	if ci == nil {
		return nil
	}
	return &ci[i]
}

// verdicts writes 1 for the verdict of a cell and 0 for the others, so that an alert can
// count them over time.
func (o exposition) verdicts(run result.Run) {
	all := []result.Verdict{result.Worse, result.Better, result.Same, result.Small, result.CannotTell}
	o.family("tare_verdict", "Verdict on a mode compared with its baseline: 1 for the current one.")
	for _, c := range run.Cells {
		if !slices.Contains(all, c.Verdict) {
			continue
		}
		for _, v := range all {
			is := 0.
			if v == c.Verdict {
				is = 1
			}
			o.sample("tare_verdict", is, "run", run.ID, "mode", c.Mode, "workload", c.Workload, "metric", c.Metric, "verdict", string(v))
		}
	}
}
