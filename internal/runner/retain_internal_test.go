package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"weak"

	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// The record of a trial must not keep the reports that it was made from: each has histograms,
// and what is kept of thousands of trials would fill the memory.
func TestRecordDoesNotKeepReports(t *testing.T) {
	made := func() (traffic.Report, weak.Pointer[traffic.Distribution]) {
		hist := traffic.NewDistribution()
		var rep traffic.Report
		rep.CPU, rep.RTT = new(1), new(0.001)
		rep.Window.RTT, rep.Window.Slots, rep.Window.Missed = hist, 10, 1
		rep.Datagrams = traffic.CountDatagrams(nil)
		rep.Datagrams.Delay = hist
		return rep, weak.Make(hist)
	}
	rep, hist := made()
	record := end(rep, rep)
	rep.Window, rep.Datagrams = traffic.Window{}, nil
	runtime.GC()
	must.EqualFor(t, "the histogram of a report that the record of a trial keeps", (*traffic.Distribution)(nil), hist.Value())
	must.True(t, record.CPU != nil && *record.CPU == 1 && record.RTT != nil && record.Datagrams != nil && record.Datagrams.Slots != nil && *record.Datagrams.Slots == 10,
		"the record lacks values: %+v", record)
	runtime.KeepAlive(record)
}

// repeating is the study of the recorded run in many blocks, each with the same trials, and
// its records by mode and workload.
func repeating(t *testing.T, from *recorded, blocks int) (s study.Study, lines map[[2]string][]byte) {
	t.Helper()
	s, lines = from.study, map[[2]string][]byte{}
	s.Blocks, s.MaxTime, s.Pilot, s.Recreate = blocks, quantity.Duration(time.Hour), quantity.WaitOf(0), study.Recreate{}
	s.Invalid, s.CostPass, s.Evidence.Stacks = study.Invalid{}, study.CostPass{}, study.Off
	for i := range s.Workloads {
		s.Workloads[i].Times, s.Workloads[i].DurationMax = 0, 0
	}
	s.Stop = &study.Stop{MinBlocks: blocks, Width: 1e-6} // decides after each block, and goes on
	for line := range bytes.Lines(from.lines) {
		var tr result.Trial
		must.Do(t, json.Unmarshal(line, &tr))
		if tr.Status == result.TrialOK && !tr.Aside() {
			lines[[2]string{tr.Mode, tr.Workload}] = line
		}
	}
	return s, lines
}

// repeat runs the recorded trials in many blocks. before is called before each group with the
// number of trials that ended; all is how many there will be.
func repeat(t *testing.T, dir *store.Dir, blocks int, resumed store.Resumption, before func(ended, all int)) (*run, int) {
	t.Helper()
	from := readRecorded(t, filepath.Join("testdata", "recorded"))
	s, lines := repeating(t, from, blocks)
	r := newRun(Config{Study: s, RunID: "repeated", Machines: driver.HostInfo{Report: from.run.Hosts}, Drivers: driver.Registry{from}, Dir: dir,
		Listener: silent{}, Build: from.run.Tare, Progress: time.Second, Resumed: resumed})
	all, ended := len(r.schedule.Remaining()), 0
	r.measure = func(_ context.Context, trials []plan.Trial, _ int) (group []*trialRun) {
		before(ended, all)
		for _, asked := range trials {
			tr := &trialRun{Trial: asked, tested: r.underTest(asked.Mode)}
			// Decoded for each trial, which shares nothing with earlier ones.
			must.Do(t, json.Unmarshal(lines[[2]string{asked.Mode, asked.Workload.ID}], &tr.out))
			tr.out.Block, tr.out.Status = asked.Block, ""
			group, ended = append(group, tr), ended+1
		}
		return group
	}
	return r, all
}

// emptyRun is the directory of a new run.
func emptyRun(t *testing.T) *store.Dir {
	t.Helper()
	dir := must.Get(store.Create(filepath.Join(t.TempDir(), "run")))(t)
	t.Cleanup(func() { dir.Close() })
	return dir
}

// A run keeps little of each trial: its memory hardly grows with their number. What is in use
// may be half of what is resident, and a trial may cost 1000 bytes of that.
func TestRunKeepsLittleOfTrials(t *testing.T) {
	const most = 500 // bytes per trial
	var at, used []int
	r, all := repeat(t, emptyRun(t), 60, store.Resumption{}, func(ended, all int) {
		if share := []int{all / 5, 4 * all / 5}; len(at) < len(share) && ended >= share[len(at)] {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			at, used = append(at, ended), append(used, int(m.HeapAlloc))
		}
	})
	run := must.Get(r.whole(t.Context()))(t)
	must.Require(t, run.Trials.OK == all && len(run.Cells) != 0 && len(used) == 2, "%d of %d trials, %d cells, %d readings", run.Trials.OK, all, len(run.Cells), len(used))
	growth := float64(used[1]-used[0]) / float64(at[1]-at[0])
	t.Logf("%.0f bytes of each of %d trials", growth, all)
	must.True(t, growth <= most, "the run kept %.0f bytes of each trial, want at most %d", growth, most)
}

// A resumed run does not keep the records that it continues, and evaluates them.
func TestResumedRunKeepsNoRecords(t *testing.T) {
	dir := emptyRun(t)
	first, n := repeat(t, dir, 2, store.Resumption{}, func(int, int) {})
	must.Get(first.whole(t.Context()))(t)
	resumed, err := dir.Resume(first.session())
	must.Require(t, err == nil && len(resumed.Trials) == n, "%d trials to resume, want %d: %v", len(resumed.Trials), n, err)
	record := weak.Make(&resumed.Trials[0])
	kept := false
	r, more := repeat(t, dir, 5, resumed, func(int, int) {
		runtime.GC()
		kept = kept || record.Value() != nil
	})
	resumed = store.Resumption{}
	run := must.Get(r.whole(t.Context()))(t)
	must.True(t, !kept, "the run keeps a record that it continues")
	must.True(t, run.Trials.OK == n+more && more != 0 && run.Cells[0].N == 5 && run.Started.Equal(resumedAt(t, dir)),
		"%+v of %d and %d trials, a cell of %d blocks, since %s", run.Trials, n, more, run.Cells[0].N, run.Started)
}

// resumedAt is when the first trial of a directory began.
func resumedAt(t *testing.T, dir *store.Dir) time.Time {
	t.Helper()
	_, trials := must.Get2(dir.Load())(t)
	return trials[0].Started
}

// A run whose trials cannot be read back fails and says so: it has no result.
func TestRunFailsIfTrialsCannotBeReadBack(t *testing.T) {
	dir := emptyRun(t)
	r, _ := repeat(t, dir, 2, store.Resumption{}, func(ended, all int) {
		if ended == 3 {
			must.Equal(t, nil, os.WriteFile(filepath.Join(dir.Path(), store.TrialsFile), []byte("edited\n"), 0o644))
		}
	})
	run, err := r.whole(t.Context())
	must.Fail(t, err, "evaluate the run: read ", store.TrialsFile+":1: it was cut or edited")
	must.True(t, run.Status == result.RunFailed && len(run.Cells) == 0, "status %s, %d cells", run.Status, len(run.Cells))
}
