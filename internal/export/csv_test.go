package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/analysis/verdict"
	"tare/internal/judge"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
)

// recorded is a quick run of a lab with two baselines and a control, its trials
// without what is no figure of them.
func recorded(t *testing.T) (result.Run, []result.Trial) {
	t.Helper()
	dir := must.Get(store.Open("testdata/run"))(t)
	defer dir.Close()
	run, trials := must.Get2(dir.Load())(t)
	return run, trials
}

func write(t *testing.T, run result.Run, trials []result.Trial) string {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, CSV(&out, run, trials))
	return out.String()
}

func asJSON(t *testing.T, cells []result.Cell) string {
	t.Helper()
	return string(must.Get(json.MarshalIndent(cells, "", " "))(t))
}

// What tare judge says of an export is what the run says of itself, to the last
// digit: the same values, intervals, lower bounds, families and verdicts. Only that a
// run is indicative is not of the trials.
func TestJudgeSaysOfAnExportWhatTheRunSays(t *testing.T) {
	run, trials := recorded(t)
	// A trial that failed and was tried again, a pilot, and one that was made up for.
	more := slices.Clone(trials)
	again := trials[3]
	again.Seq, again.Attempt = len(trials)+1, 2
	broken, pilot := trials[5], trials[7]
	broken.Status, broken.Metrics, broken.Reason = result.TrialFailed, nil, "the path carried \"nothing\", twice"
	pilot.Block, pilot.Pilot = 0, true
	for _, c := range []struct {
		name   string
		run    func(result.Run) result.Run
		trials []result.Trial
	}{
		{"as it was", func(r result.Run) result.Run { return r }, trials},
		{"with what does not count", func(r result.Run) result.Run { return r }, append([]result.Trial{pilot, broken}, append(more, again)...)},
		{"cut short in the third block", func(r result.Run) result.Run { return r }, trials[:31]},
		{"with a mode that came to nothing", func(r result.Run) result.Run {
			r.Modes = slices.Clone(r.Modes)
			r.Modes[1].Status, r.Modes[1].Reason = result.ModeVoid, "its counters did not move"
			return r
		}, trials},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := c.run(run)
			var workloads []string
			for _, cell := range run.Cells {
				if !slices.Contains(workloads, cell.Workload) {
					workloads = append(workloads, cell.Workload)
				}
			}
			want, _ := verdict.Cells(run.Modes, workloads, c.trials, verdict.Rule{Margin: 0.05})
			numbers := must.Get(judge.Read([]judge.Source{{Name: "export.csv", R: strings.NewReader(write(t, run, c.trials))}}, judge.Options{}))(t)
			numbers.Input.Rule.Margin = 0.05
			got, _ := verdict.Judge(numbers.Input)
			if d := cmp.Diff(asJSON(t, want), asJSON(t, got)); d != "" || len(got) < 30 {
				t.Errorf("%d cells: %s", len(got), d)
			}
			if c.name != "as it was" {
				return
			}
			for i, cell := range run.Cells {
				cell = verdict.WithoutTails(cell)
				must.True(t, cell.Verdict == got[i].Verdict && cell.AtLeast == got[i].AtLeast && cell.N == got[i].N,
					"%s %s %s: recorded %s, judged %s", cell.Mode, cell.Workload, cell.Metric, cell.Verdict, got[i].Verdict)
			}
		})
	}
}

func TestCSVStatus(t *testing.T) {
	run, trials := recorded(t)
	run.Modes = slices.Clone(run.Modes)
	run.Modes[1].Status = result.ModeVoid
	i := slices.IndexFunc(trials, func(tr result.Trial) bool { return tr.Mode == run.Modes[1].ID })
	first := slices.IndexFunc(trials, func(tr result.Trial) bool { return tr.Mode == run.Modes[0].ID })
	broken, again, pilot := trials[first], trials[first], trials[first]
	broken.Seq, broken.Status, broken.Metrics, broken.Reason = 90, result.TrialInvalid, nil, "someone else's load"
	again.Seq = 91
	pilot.Seq, pilot.Block, pilot.Pilot = 92, 0, true
	records := must.Get(csv.NewReader(strings.NewReader(write(t, run, []result.Trial{trials[first], trials[i], broken, again, pilot}))).ReadAll())(t)
	got := map[string]string{}
	for _, r := range records[1:] {
		got[r[2]] = r[13] + " " + r[15]
		must.EqualFor(t, fmt.Sprintf("a value of what has none, or none of what has one: %q", r), r[13] == "invalid", r[11] == "")
	}
	want := map[string]string{"90": "invalid someone else's load", "91": "ok ", "92": "pilot "}
	for _, tr := range []struct {
		at     int
		status string
	}{{first, "superseded "}, {i, "void "}} {
		want[itoa(trials[tr.at].Seq)] = tr.status
	}
	must.EqualFor(t, records[0], want, got)
}

func itoa(n int) string {
	text, _ := json.Marshal(n) //nolint:errchkjson // a number
	return string(text)
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestCSVTellsOfAFullDisk(t *testing.T) {
	run, trials := recorded(t)
	if err := CSV(full{}, run, trials); err == nil || err.Error() != "export: the disk is full" {
		t.Error(err)
	}
}

func TestFormats(t *testing.T) {
	for _, f := range All() {
		if got, ok := Named(f.Name); !ok || got.What == "" || got.Write == nil {
			t.Errorf("%+v", f)
		}
	}
	if _, ok := Named("xlsx"); ok {
		t.Error("a format that does not exist is accepted")
	}
}
