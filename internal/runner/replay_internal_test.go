package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/analysis/verdict"
	"tare/internal/driver"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/internal/traffic/workloads"
	"tare/internal/warning"
)

// recorded is a run that was measured, in testdata: the input of a replay.
type recorded struct {
	study  study.Study
	run    result.Run
	trials []result.Trial
	lines  []byte // of trials.ndjson
	next   int    // of trials, the one that the runner must ask for
	failed func(format string, args ...any)
}

func readRecorded(t *testing.T, path string) *recorded {
	t.Helper()
	dir, err := store.Open(path)
	must.Do(t, err)
	defer dir.Close()
	r := &recorded{failed: t.Errorf}
	if r.run, r.trials, err = dir.Load(); err != nil {
		t.Fatal(err)
	}
	r.lines = must.Get(os.ReadFile(filepath.Join(path, store.TrialsFile)))(t)
	src, err := store.ReadStudy(path)
	if err == nil {
		r.study, err = studyfile.Decode(store.StudyFile, src, r.catalog())
	}
	if err == nil {
		r.study, err = study.Resolve(r.study, r.catalog())
	}
	must.Do(t, err)
	return r
}

func (r *recorded) catalog() study.Catalog {
	c := study.Catalog{}
	for _, m := range r.Modes() {
		c.Modes = append(c.Modes, study.Offer{ID: m.ID, Baseline: m.Baseline})
	}
	for _, w := range workloads.All() {
		c.Workloads = append(c.Workloads, w.Spec().WorkloadSpec)
	}
	return c
}

// Modes are those that were measured, by their drivers' names.
func (r *recorded) Modes() []driver.Mode {
	var out []driver.Mode
	for _, m := range r.run.Modes {
		d := driver.Mode{ID: m.ID, Title: m.Title}
		if m.Mode != "" {
			d.ID = m.Mode
		}
		if d.ID != "host" {
			d.Baseline = "host"
		}
		if !slices.ContainsFunc(out, func(o driver.Mode) bool { return o.ID == d.ID }) {
			out = append(out, d)
		}
	}
	return out
}

// Probe finds every mode possible.
func (r *recorded) Probe(context.Context, driver.Order) error { return nil }

// Provision returns a mode as it was recorded: its topology and facts, and no endpoints.
func (r *recorded) Provision(_ context.Context, o driver.Order) (*driver.Path, error) {
	m := r.mode(o.Name)
	if m == nil {
		return nil, fmt.Errorf("%s is not in the recorded run", o.Name)
	}
	return &driver.Path{
		Mode: o.Mode, Hosts: []driver.Host{{Name: "a", Local: true}, {Name: "b", Local: true}}, Facts: m.Facts,
		Topology: func() (result.Topology, error) { return *m.Topology, nil },
		Close:    func(context.Context) error { return nil },
	}, nil
}

func (r *recorded) mode(id string) *result.Mode {
	i := slices.IndexFunc(r.run.Modes, func(m result.Mode) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return &r.run.Modes[i]
}

// replay stands for measuring a group: the trials that follow in the recording must be
// those that the runner asks for, in its order.
func (r *recorded) replay(run *run, trials []plan.Trial, attempt int) []*trialRun {
	var group []*trialRun
	for _, asked := range trials {
		tr := &trialRun{Trial: asked, tested: run.underTest(asked.Mode)}
		group = append(group, tr)
		if r.next == len(r.trials) {
			r.failed("the runner asks for more than the recorded trials: %s %s in block %d", asked.Mode, asked.Workload.ID, asked.Block)
			tr.err = errors.New("not recorded")
			continue
		}
		was := r.trials[r.next]
		r.next++
		if was.Mode != asked.Mode || was.Workload != asked.Workload.ID || was.Block != asked.Block || was.Attempt != attempt || was.Requeued != asked.Requeued ||
			was.Profiled != asked.Profiled || was.Warmup != asked.Workload.Warmup.Std().Seconds() || was.Window != asked.Workload.Duration.Std().Seconds() || was.Rate != plan.Offered(asked.Workload) {
			r.failed("the runner asks for %s %s in block %d, attempt %d, with a window of %s at %g bit/s; recorded is %+v", asked.Mode, asked.Workload.ID, asked.Block, attempt,
				asked.Workload.Duration, plan.Offered(asked.Workload), was)
		}
		// What decides it and the number of a trial are the runner's to find again.
		tr.out, tr.elapsed = was, time.Duration(was.Elapsed*float64(time.Second)+0.5)
		tr.out.Experiment, tr.out.Tare, tr.out.Seq, tr.out.Status = "", "", 0, ""
		switch {
		case was.Void:
			tr.err = &voidError{errors.New(was.Reason)}
		case was.Status == result.TrialFailed:
			tr.err = errors.New(was.Reason)
		case was.Status == result.TrialInvalid:
			tr.invalidReason = was.Reason
		}
		if p := tr.tested; r.mode(asked.Mode).Proof != nil && r.mode(asked.Mode).Proof.Trial == was.Seq && p != nil {
			shown := *r.mode(asked.Mode).Proof
			tr.shown = &shown
		}
	}
	return group
}

// decidedElsewhere reports whether a warning is one of three that a replay cannot give:
// of other runs on its machine, of waiting for a quiet machine, and of what was read
// around a trial and is not in its record.
func decidedElsewhere(w result.Warning) bool {
	return slices.Contains([]warning.Code{warning.OtherRun, warning.NotQuiet, warning.NoCPUCost}, warning.Code(w.Code))
}

// comparable is a run without what the clock and the machine decide: its id, when it
// began and ended, and three kinds of warnings. Percentiles beyond the 99th, which the recorded run judged without the tail
// pass, have no verdict, and the recorded trials have no time of the generator's own, of which the recorded run says nothing. All else must be equal.
func comparable(r result.Run) result.Run {
	r.ID, r.Started, r.Finished = "", time.Time{}, time.Time{}
	r.Warnings = slices.DeleteFunc(slices.Clone(r.Warnings), decidedElsewhere)
	r.Cells = slices.Clone(r.Cells)
	for i := range r.Cells {
		r.Cells[i] = verdict.WithoutTails(r.Cells[i])
	}
	if !slices.ContainsFunc(r.OwnShares, func(o result.OwnShare) bool { return o.Share > 0 }) {
		r.OwnShares = nil
	}
	r.Comparisons = slices.DeleteFunc(slices.Clone(r.Comparisons), func(c result.Comparison) bool {
		_, beyond := result.BeyondP99(c.Metric)
		return beyond
	})
	return r
}

// rendered is the whole report of a run.
func rendered(t *testing.T, run result.Run, trials []result.Trial) string {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, report.Prepare(report.Input{Run: comparable(run), Trials: trials}).Text(&out, report.TextOptions{Width: 100}))
	return out.String()
}

type silent struct{}

func (silent) Handle(live.Event) {}

// A recorded run gives the same result again: the same plan from its seed, the same
// decisions from its trials, the same trials.ndjson byte for byte, the same run.json and
// the same report. It needs neither rights nor a network.
func TestReplay(t *testing.T) {
	from := readRecorded(t, filepath.Join("testdata", "recorded"))
	ground := driver.HostInfo{Hosts: []driver.Host{{Name: "a", Local: true}, {Name: "b", Local: true}}, CPUs: []int{0, 1}, Report: from.run.Hosts}
	for _, w := range from.run.Warnings { // what its target told the runner
		if e, _, known := warning.Find(w.Code); known && (e.Section == warning.Machine || e.Code == warning.SharedKernel) && !decidedElsewhere(w) {
			ground.Warnings = append(ground.Warnings, w)
		}
	}
	path := filepath.Join(t.TempDir(), "run")
	dir := must.Get(store.Create(path))(t)
	defer dir.Close()
	again := newRun(Config{Study: from.study, RunID: "replayed", Machines: ground, Drivers: driver.Registry{from}, Dir: dir, Listener: silent{}, Build: from.run.Tare})
	again.measure = func(_ context.Context, trials []plan.Trial, attempt int) []*trialRun {
		return from.replay(again, trials, attempt)
	}
	must.Get(again.whole(t.Context()))(t)
	must.EqualFor(t, "recorded trials that the runner asked for", len(from.trials), from.next)
	lines := must.Get(os.ReadFile(filepath.Join(path, store.TrialsFile)))(t)
	if !bytes.Equal(from.lines, lines) {
		t.Errorf("trials.ndjson differs (-recorded +replayed):\n%s", cmp.Diff(string(from.lines), string(lines)))
	}
	run, trials := must.Get2(dir.Load())(t)
	// Other processors round some functions of package math differently in the last place.
	near := cmpopts.EquateApprox(0, 0)
	if runtime.GOARCH != "amd64" {
		near = cmpopts.EquateApprox(1e-9, 0)
	}
	must.EqualFor(t, "run.json", comparable(from.run), comparable(run), near)
	must.EqualFor(t, "report", rendered(t, from.run, from.trials), rendered(t, run, trials))
}
