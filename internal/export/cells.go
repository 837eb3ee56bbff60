package export

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"tare/internal/report"
	"tare/internal/result"
)

// Cells writes one line for each cell of a run: its value, its ratio to the baseline and
// the verdict, in base units and with all digits. An unknown value is empty. Its only
// errors are those of w.
func Cells(w io.Writer, run result.Run, _ []result.Trial) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"run", "mode", "workload", "metric", "unit", "better", "n", "value", "value_lower", "value_upper", "at_least",
		"baseline", "ratio", "ratio_lower", "ratio_upper", "p", "verdict", "margin", "detectable", "blocks_needed"}}
	for _, c := range run.Cells {
		needed, margin := "", ""
		if c.BlocksNeeded != nil {
			needed = strconv.Itoa(*c.BlocksNeeded)
		}
		if c.Verdict != "" {
			margin = digits(&c.Margin)
		}
		atLeast := ""
		if c.AtLeast {
			atLeast = "true"
		}
		rows = append(rows, []string{run.ID, c.Mode, c.Workload, c.Metric, c.Unit, string(c.Better), strconv.Itoa(c.N),
			digits(c.Value), digits(limit(c.CI, 0)), digits(limit(c.CI, 1)), atLeast,
			c.Baseline, digits(c.Ratio), digits(limit(c.RatioCI, 0)), digits(limit(c.RatioCI, 1)), digits(c.P), string(c.Verdict),
			margin, digits(c.Detectable), needed})
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func digits(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

// JSON writes run.json. Its only errors are those of w.
func JSON(w io.Writer, run result.Run, _ []result.Trial) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	if err := out.Encode(run); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// Markdown writes the first screen of the report with its claims and warnings. Its only errors are those of w.
func Markdown(w io.Writer, run result.Run, trials []result.Trial) error {
	return report.Markdown(w, report.Input{Run: run, Trials: trials})
}
