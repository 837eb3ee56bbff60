package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	jsonv1 "github.com/go-json-experiment/json/v1"

	"tare/internal/result"
)

// maxLine is the maximum length of a line of trials.ndjson, in bytes: enough for a series
// of hours, and a limit on what a broken file makes a reader allocate.
const maxLine = 8 << 20

// maxTrialsFile is the maximum size of trials.ndjson, in bytes: about 20 000 trials of 6 KB.
const maxTrialsFile = 128 << 20

// ErrFull means that trials.ndjson has reached its maximum size.
var ErrFull = errors.New("the file would exceed 128 MiB, the maximum: start a new run for further blocks, or use shorter series")

// EncodeRun returns run.json: indented, with empty lists instead of null, and with Schema
// filled in if empty. Errors: a cell or a comparison with a value that is NaN or
// infinite, which JSON cannot represent; the error names it.
func EncodeRun(r result.Run) ([]byte, error) {
	for _, c := range r.Cells {
		if name := notFinite(c); name != "" {
			return nil, fmt.Errorf("encode run: cell %s %s %s: %s is not a finite number", c.Mode, c.Workload, c.Metric, name)
		}
	}
	for _, c := range r.Comparisons {
		name := notFinite(c.Cell())
		if name == "" {
			name = notFinite(result.Cell{Value: c.B.Value, CI: c.B.CI})
		}
		if name != "" {
			return nil, fmt.Errorf("encode run: comparison %s %s: %s is not a finite number", c.ID, c.Metric, name)
		}
	}
	if r.Schema == "" {
		r.Schema = result.Schema
	}
	r.Hosts, r.Modes = orEmpty(r.Hosts), orEmpty(r.Modes)
	r.Cells, r.Warnings = orEmpty(r.Cells), orEmpty(r.Warnings)
	data, err := encode(r, "  ")
	if err != nil {
		return nil, fmt.Errorf("encode run: %w", err)
	}
	return data, nil
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// notFinite names the first value of the cell that JSON cannot represent.
func notFinite(c result.Cell) string {
	for _, f := range []struct {
		name string
		p    *float64
	}{{"value", c.Value}, {"ratio", c.Ratio}, {"p", c.P}, {"margin", &c.Margin}, {"detectable", c.Detectable}} {
		if f.p != nil && !finite(*f.p) {
			return f.name
		}
	}
	for _, f := range []struct {
		name string
		p    *result.Interval
	}{{"ci", c.CI}, {"ratio_ci", c.RatioCI}} {
		if f.p != nil && !(finite(f.p[0]) && finite(f.p[1])) {
			return f.name
		}
	}
	return ""
}

// encodeTrial returns a line of trials.ndjson that parseTrial can read.
func encodeTrial(t result.Trial) ([]byte, error) {
	if t.Schema == "" {
		t.Schema = result.TrialSchema
	}
	if err := checkTrial(t); err != nil {
		return nil, err
	}
	line, err := encode(t, "")
	if err != nil {
		return nil, err
	}
	if len(line) > maxLine {
		return nil, fmt.Errorf("line of %d bytes, at most %d", len(line), maxLine)
	}
	return line, nil
}

// parseTrial reads a line of trials.ndjson, with or without its end.
func parseTrial(line []byte) (result.Trial, error) {
	var t result.Trial
	// The faster decoder first. The other one has the usual errors.
	err := jsonv1.Unmarshal(line, &t)
	if err != nil {
		t = result.Trial{}
		err = json.Unmarshal(line, &t)
	}
	// The schema first, because even the types can differ in a later one.
	if err != nil || t.Schema != result.TrialSchema {
		var head struct {
			Schema string `json:"schema"`
		}
		if err := json.Unmarshal(line, &head); err != nil {
			return result.Trial{}, err
		}
		if err := checkSchema(head.Schema, result.TrialSchema); err != nil {
			return result.Trial{}, err
		}
	}
	if err != nil {
		return result.Trial{}, err
	}
	// JSON contains only finite values.
	return t, checkNames(&t)
}

// checkTrial reports what would make a trial unreadable or a value that JSON cannot
// represent.
func checkTrial(t result.Trial) error {
	if err := checkSchema(t.Schema, result.TrialSchema); err != nil {
		return err
	}
	if err := checkNames(&t); err != nil {
		return err
	}
	return checkFigures(t)
}

// checkNames checks the fields that every trial must have.
func checkNames(t *result.Trial) error {
	switch {
	case t.Mode == "":
		return errors.New("no mode")
	case t.Workload == "":
		return errors.New("no workload")
	case !slices.Contains([]result.TrialStatus{result.TrialOK, result.TrialInvalid, result.TrialFailed}, t.Status):
		return fmt.Errorf("unknown status %q", t.Status)
	}
	return nil
}

// checkFigures names the first value that JSON cannot represent.
func checkFigures(t result.Trial) error {
	figures := map[string]float64{"settle": t.Settle, "elapsed": t.Elapsed, "traffic": t.Traffic}
	for name, v := range t.Metrics {
		figures["metric "+name] = v
	}
	for name, v := range t.Machine {
		figures[name] = v
	}
	for _, p := range t.Processes {
		figures["CPU time of "+p.Name] = p.CPU
	}
	if t.GeneratorLimited != nil {
		figures["generator_limited"] = *t.GeneratorLimited
	}
	searchFigures(t, figures)
	for i, p := range t.Pairs {
		for name, v := range p.Metrics {
			figures[fmt.Sprintf("metric %s of pair %d", name, i+1)] = v
		}
	}
	for name, e := range map[string]*result.End{"client": t.Client, "server": t.Server} {
		if e != nil && e.RTT != nil {
			figures["rtt of the "+name] = *e.RTT
		}
	}
	if s := t.Series; s != nil {
		figures["interval of the "+s.Metric+" series"] = s.Interval
		for i, v := range s.Values {
			if !finite(v) {
				return fmt.Errorf("value %d of the %s series is %g", i+1, s.Metric, v)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		if v := figures[name]; !finite(v) {
			return fmt.Errorf("%s is %g", name, v)
		}
	}
	return nil
}

// checkSchema accepts any minor version (tare.run/1.2), whose additions an older reader
// may ignore, and no other major version.
func checkSchema(got, want string) error {
	if got == want || strings.HasPrefix(got, want+".") {
		return nil
	}
	kind, _, _ := strings.Cut(want, "/")
	if strings.HasPrefix(got, kind+"/") {
		return fmt.Errorf("%w %q, but this version of tare reads only %q: use the version that wrote it, or a later one", errSchema, got, want)
	}
	return fmt.Errorf("%w is %q, not %q", errSchema, got, want)
}

// errSchema is the prefix of errors about an unknown schema.
var errSchema = errors.New("schema")

// encode returns readable JSON, with < and > unescaped, and a newline at the end.
func encode(v any, indent string) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// searchFigures adds the values of a search and its steps, by name.
func searchFigures(t result.Trial, figures map[string]float64) {
	for i, s := range t.Steps {
		for name, v := range map[string]float64{"load": s.Load, "duration": s.Duration, "loss ratio": s.LossRatio, "backlog": s.Backlog} {
			figures[fmt.Sprintf("%s of step %d", name, i+1)] = v
		}
	}
	if t.Search == nil {
		return
	}
	figures["seconds of the search"] = t.Search.Seconds
	for _, g := range t.Search.Goals {
		for name, v := range map[string]*float64{"lower bound": g.Lower, "upper bound": g.Upper, "throughput": g.Throughput, "share of lossy steps": g.LossyUpper} {
			if v != nil {
				figures[name+" of "+g.Metric] = *v
			}
		}
	}
}

// finite reports whether JSON can represent x.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
