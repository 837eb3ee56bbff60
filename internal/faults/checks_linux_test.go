//go:build linux

package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
)

// content is what a run's directory holds in the end, without the values.
type content struct {
	Status result.RunStatus
	Trials []string // block, mode and workload of what counts, sorted
	Cells  []string // mode, workload, metric and baseline, with how many trials count
	Files  []string
	Void   []string // modes whose path was not proven
}

// without is the content without the values of a mode.
func (c content) without(mode string) content {
	c.Trials = slices.DeleteFunc(slices.Clone(c.Trials), func(l string) bool { return strings.Contains(l, " "+mode+" ") })
	c.Cells = slices.DeleteFunc(slices.Clone(c.Cells), func(l string) bool { return strings.HasPrefix(l, mode+" ") })
	return c
}

// read reads a run's directory as every reader does. A directory without a run is an error.
func read(dir string) (result.Run, []result.Trial, error) {
	d, err := store.Open(dir)
	if err != nil {
		return result.Run{}, nil, err
	}
	defer d.Close()
	return d.Load()
}

func contentOf(t *testing.T, dir string) content {
	t.Helper()
	_, trials := must.Get2(read(dir))(t)
	run := runJSON(t, dir)
	c := content{Status: run.Status}
	for _, m := range run.Modes {
		if m.Status == result.ModeVoid {
			c.Void = append(c.Void, m.ID)
		}
	}
	for _, tr := range trials {
		if tr.Status == result.TrialOK && !tr.Aside() && !slices.Contains(c.Void, tr.Mode) {
			c.Trials = append(c.Trials, fmt.Sprintf("%d %s %s", tr.Block, tr.Mode, tr.Workload))
		}
	}
	slices.Sort(c.Trials)
	// A trial that was repeated counts once.
	c.Trials = slices.Compact(c.Trials)
	for _, cell := range run.Cells {
		// Whether a CPU cost is known depends on what else the machine does.
		if strings.HasPrefix(cell.Metric, "cpu_") {
			continue
		}
		judged := ""
		if cell.Verdict != "" {
			judged = ", judged"
		}
		c.Cells = append(c.Cells, fmt.Sprintf("%s %s %s against %q: %d trials%s", cell.Mode, cell.Workload, cell.Metric, cell.Baseline, cell.N, judged))
	}
	slices.Sort(c.Cells)
	c.Files = walk(t, dir, func(_ string, e fs.DirEntry) bool { return !e.IsDir() })
	for i := range c.Files {
		c.Files[i] = strings.TrimPrefix(c.Files[i], dir)
	}
	// Whether a metric has a figure depends on its values.
	c.Files = slices.DeleteFunc(c.Files, figure.MatchString)
	return c
}

var figure = regexp.MustCompile(`^/figures/[^.]+\.svg$`)

// runJSON reads run.json, the zero value without one.
func runJSON(t *testing.T, dir string) (run result.Run) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, store.RunFile))
	if os.IsNotExist(err) {
		return run
	}
	if err == nil {
		err = json.Unmarshal(data, &run)
	}
	if err != nil {
		t.Errorf("%s: %v", store.RunFile, err)
	}
	return run
}

// crashed matches what the runtime prints when a program dies by its own mistake.
var crashed = regexp.MustCompile(`(?m)^(panic: |fatal error: |goroutine \d+ \[|runtime: )`)

// checkEnd checks how the run ended: its exit code and its own words agree with what it wrote.
func (r *tested) checkEnd(f fault, code int, tooLate bool) {
	r.t.Helper()
	written := runJSON(r.t, r.out)
	said := r.stderr()
	if f.end != killed && crashed.MatchString(said) {
		r.t.Errorf("the program crashed:\n%s", said)
	}
	want := []int{0}
	switch {
	case tooLate: // as without the fault
	case r.terminal && written.Status == result.RunComplete:
		want = []int{0, 1, 130} // 1: it could not show what it had measured
	case f.end == killed:
		return
	case written.Status == result.RunInterrupted:
		want = []int{130}
	case f.end == interrupted && written.Status == result.RunComplete:
		want = []int{0, 130} // 130: it was told after the last trial
	case f.end == interrupted:
		want = nil // it did not end in order
	case f.end == byItself && written.Status == result.RunComplete && written.Trials.OK == 0:
		want = []int{1, 3}
	case f.end == byItself && written.Status != result.RunComplete:
		want = []int{1, 3}
		must.Contain(r.t, said, "tare: ")
	}
	if !slices.Contains(want, code) {
		r.t.Errorf("exit code %d and status %q, want one of %v\n%s", code, written.Status, want, said)
	}
}

// checkKept checks that what had finished before the fault is still there, byte for byte, that
// it can be read, and that nothing is there twice.
func (r *tested) checkKept(had []byte) {
	r.t.Helper()
	if now := r.finished(); !bytes.HasPrefix(now, had) {
		r.t.Errorf("of %d bytes of finished trials not all are there, but %d bytes:\n%s", len(had), len(now), cmp.Diff(string(had), string(now)))
	}
	if len(had) == 0 {
		return
	}
	run, trials, err := read(r.out)
	if err != nil {
		r.t.Errorf("the run cannot be read: %v", err)
		return
	}
	seen := map[int]bool{}
	for _, tr := range trials {
		if seen[tr.Seq] {
			r.t.Errorf("trial %d is there twice", tr.Seq)
		}
		seen[tr.Seq] = true
	}
	must.Equal(r.t, bytes.Count(r.finished(), []byte("\n")), len(trials))
	if n := run.Trials.OK + run.Trials.Invalid + run.Trials.Failed; run.Status == result.RunComplete && n != len(trials) {
		r.t.Errorf("run.json counts %d trials of %d", n, len(trials))
	}
	if code, out := r.call("report", r.out); code != 0 {
		r.t.Errorf("report: exit code %d\n%s", code, out)
	}
}

// resume continues the run to its end. A run that could not write its study has nothing to
// continue with: it starts again.
func (r *tested) resume() {
	r.t.Helper()
	args := []string{"run", "-v", "--resume", r.out}
	if _, err := os.Stat(filepath.Join(r.out, store.StudyFile)); err != nil {
		must.Do(r.t, os.RemoveAll(r.out))
		args = r.args()
	}
	if code, out := r.call(args...); code != 0 {
		r.t.Errorf("tare %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
}

// failures lists why modes and trials of a run failed.
func failures(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	for _, m := range runJSON(t, dir).Modes {
		if m.Status != result.ModeMeasured {
			fmt.Fprintf(&out, "%s is %s: %s\n", m.ID, m.Status, m.Reason)
		}
	}
	_, trials, err := read(dir)
	for _, tr := range trials {
		if tr.Status != result.TrialOK {
			fmt.Fprintf(&out, "%s %s in block %d, attempt %d, is %s: %s\n", tr.Mode, tr.Workload, tr.Block, tr.Attempt, tr.Status, tr.Reason)
		}
	}
	if err != nil {
		fmt.Fprintln(&out, err)
	}
	return out.String()
}
