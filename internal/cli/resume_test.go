//go:build linux

package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/cli"
	"tare/internal/driver"
	"tare/internal/hosts"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// loopStudy takes four seconds: two modes over the loopback device, for which nothing
// has to be set up. In one piece, and so long that its ends get CPU, no trial is repeated on a busy machine.
const loopStudy = `engine: command:env
blocks: 2
settle: 10ms
invalid: {steal: off, others: off, cpu_wait: off, unsettled: off, most: off}
modes: [host, {id: again, mode: command/again}]
workloads:
- {workload: tcp_rr, transaction_rate: 1000, warmup: 10ms, duration: 1s, slice: 1h, family: ipv4}
`

// loop runs tare of a build with args, with the target that loopStudy names.
func loop(t *testing.T, build result.Build, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return loopOn(t, sketchKind(), build, args...)
}

// loopOn does so with targets of that kind.
func loopOn(t *testing.T, kind hosts.Kind, build result.Build, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	app := cli.New(build)
	app.Kinds = append(app.Kinds, kind)
	app.Stdout, app.Stderr = &out, &errs
	code = app.Main(t.Context(), args)
	return code, out.String(), errs.String()
}

// edited replaces a text in a file of a run.
func edited(t *testing.T, dir, name, old, changed string) {
	t.Helper()
	path := filepath.Join(dir, name)
	text := must.Get(os.ReadFile(path))(t)
	must.Require(t, strings.Contains(string(text), old), "%s has no %q:\n%s", path, old, text)
	must.Do(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, changed)), 0o600))
}

// recordedLoop is a finished run of loopStudy. Its copies are what tests change.
func recordedLoop(t *testing.T, build result.Build) func() string {
	t.Helper()
	testneed.NotShort(t)
	dir := t.TempDir()
	file, whole := filepath.Join(dir, "study.yaml"), filepath.Join(dir, "whole")
	must.Do(t, os.WriteFile(file, []byte(loopStudy), 0o600))
	if code, stdout, stderr := loop(t, build, "run", file, "--out", whole); code != 0 {
		t.Fatalf("run ends with %d: %s%s", code, stdout, stderr)
	}
	return func() string {
		to := filepath.Join(t.TempDir(), "run")
		must.Do(t, os.CopyFS(to, os.DirFS(whole)))
		return to
	}
}

// A run whose study or program changed does not go on: the error names what differs and
// with which values, before anything is measured.
func TestResumeRefusesAnotherExperiment(t *testing.T) {
	t.Parallel()
	build := result.Build{Version: "v0.1.0", Commit: "abc"}
	recorded := recordedLoop(t, build)
	for name, c := range map[string]struct {
		old, changed string
		build        result.Build
		want         []string
	}{
		"duration": {"duration: 1s", "duration: 1.2s", build, []string{"4 of its trials are of another experiment", "workload tcp_rr: duration 1s in trials 1-4, 1.2s in study.yaml"}},
		"request":  {"request_size: 1\n", "request_size: 1000\n", build, []string{"workload tcp_rr: request_size 1 in trials 1-4, 1000 in study.yaml"}},
		"mode":     {"mode: command/again", "mode: host", build, []string{"mode again: mode command/again in trials ", ", host in study.yaml"}},
		"fewer":    {"  - id: again\n    mode: command/again\n", "", build, []string{"study: modes again, host in trials 1-4, host in study.yaml", "mode again is in trials ", ", not in study.yaml"}},
		"evidence": {`counters: "on"`, `counters: "off"`, build, []string{"study: evidence.counters on in trials 1-4, off in study.yaml"}},
		"build":    {"seed:", "seed:", result.Build{Version: "v0.2.0", Commit: "def"}, []string{"trials 1-4 were measured by tare v0.1.0 (abc), this is v0.2.0 (def)"}},
	} {
		dir := recorded()
		edited(t, dir, store.StudyFile, c.old, c.changed)
		before := trialsIn(dir)
		code, stdout, stderr := loop(t, c.build, "run", "--resume", dir)
		if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 || trialsIn(dir) != before {
			t.Errorf("%s: ends with %d, %d trials after %d: %s%s", name, code, trialsIn(dir), before, stdout, stderr)
		}
		for _, want := range append(c.want, "--force") {
			must.True(t, strings.Contains(stderr, want), "%s: %q is not in %q", name, want, stderr)
		}
	}
}

// What does not decide a trial may change: the run goes on, and only what is missing is
// measured.
func TestResumeExtends(t *testing.T) {
	t.Parallel()
	build := result.Build{Version: "v0.1.0"}
	dir := recordedLoop(t, build)()
	edited(t, dir, store.StudyFile, "blocks: 2", "blocks: 3\ntitle: Longer")
	if code, _, stderr := loop(t, build, "run", "--resume", dir); code != 0 {
		t.Fatalf("ends with %d: %s", code, stderr)
	}
	run, trials := loaded(t, dir)
	must.True(t, run.Trials.OK == 6 && len(trials) == 6 && run.Apart == nil && trials[5].Seq == 6, "%+v, apart %+v", run.Trials, run.Apart)
}

// With --force both experiments are in the directory, and only one in its results; it
// goes on without --force from then on, and back to the first with it.
func TestResumeForced(t *testing.T) {
	t.Parallel()
	build := result.Build{Version: "v0.1.0"}
	dir := recordedLoop(t, build)()
	edited(t, dir, store.StudyFile, "duration: 1s", "duration: 1.2s")
	code, stdout, stderr := loop(t, build, "run", "--resume", dir, "--force")
	must.Require(t, code == 0 && strings.Contains(stdout+stderr, "trials of another experiment"), "ends with %d: %s%s", code, stdout, stderr)
	run, trials := loaded(t, dir)
	if run.Trials.OK != 4 || len(trials) != 4 || trialsIn(dir) != 8 || trials[0].Seq != 5 || run.Apart == nil || run.Apart.Trials.OK != 4 {
		t.Fatalf("%+v of %d lines, apart %+v", run.Trials, trialsIn(dir), run.Apart)
	}
	for _, c := range run.Cells {
		must.True(t, c.N <= 2, "%s %s of %d blocks", c.Mode, c.Metric, c.N)
	}
	for _, args := range [][]string{{"report", "--full", dir}, {"export", dir}, {"compare", dir, dir}} {
		if code, stdout, stderr := loop(t, build, args...); code != 0 || !strings.Contains(stdout+stderr, "trials of another experiment") {
			t.Errorf("tare %s ends with %d and does not name them: %s%s", args[0], code, stdout, stderr)
		}
	}
	if code, _, stderr := loop(t, build, "run", "--resume", dir); code != 0 || trialsIn(dir) != 8 {
		t.Errorf("without --force once more: %d, %d trials: %s", code, trialsIn(dir), stderr)
	}
	edited(t, dir, store.StudyFile, "duration: 1.2s", "duration: 1s")
	if code, _, stderr := loop(t, build, "run", "--resume", dir); code != 2 {
		t.Errorf("back without --force: %d: %s", code, stderr)
	}
	if code, _, stderr := loop(t, build, "run", "--resume", dir, "--force"); code != 0 || trialsIn(dir) != 8 {
		t.Errorf("back: %d, %d trials: %s", code, trialsIn(dir), stderr)
	}
	if run, trials := loaded(t, dir); len(trials) != 4 || trials[0].Seq != 1 || run.Apart.Numbers != "5-8" {
		t.Errorf("back: %d trials, apart %+v", len(trials), run.Apart)
	}
}

// A run of a program that recorded neither settings nor build is read as it always was;
// it goes on with --force only, beside its trials.
func TestResumeOfOlderRun(t *testing.T) {
	t.Parallel()
	build := result.Build{Version: "v0.1.0"}
	dir := recordedLoop(t, build)()
	_, trials := loaded(t, dir)
	hashes := map[string]bool{}
	for _, trial := range trials {
		hashes[trial.Experiment] = true
	}
	for hash := range hashes {
		edited(t, dir, store.TrialsFile, `"experiment":"`+hash+`","tare":"v0.1.0",`, "")
	}
	must.Do(t, os.Remove(filepath.Join(dir, store.SessionsFile)))
	if run, trials := loaded(t, dir); len(trials) != 4 || run.Apart != nil || len(run.Cells) == 0 || trials[0].Experiment != "" {
		t.Errorf("%d trials, apart %+v", len(trials), run.Apart)
	}
	if code, _, stderr := loop(t, build, "run", "--resume", dir); code != 2 || !strings.Contains(stderr, "trials 1-4 were measured by an older tare") {
		t.Errorf("ends with %d: %s", code, stderr)
	}
	if code, _, stderr := loop(t, build, "run", "--resume", dir, "--force"); code != 0 || trialsIn(dir) != 8 {
		t.Errorf("with --force: %d, %d trials: %s", code, trialsIn(dir), stderr)
	}
}

// Lines that repeat a trial are named and count once, when a run goes on and when it is
// read.
func TestResumeOfDoubledTrials(t *testing.T) {
	t.Parallel()
	build := result.Build{Version: "v0.1.0"}
	dir := recordedLoop(t, build)()
	path := filepath.Join(dir, store.TrialsFile)
	text := must.Get(os.ReadFile(path))(t)
	must.Do(t, os.WriteFile(path, append(text, text...), 0o600))
	_, whole, _ := loop(t, build, "report", dir)
	must.Contain(t, whole, "4 valid trials")
	code, stdout, stderr := loop(t, build, "run", "--resume", dir, "--verbose")
	run, _ := loaded(t, dir)
	must.True(t, code == 0 && run.Trials.OK == 4 && run.Duplicates == 4 && strings.Contains(stdout+stderr, "lines of trials.ndjson that repeat a trial: 4 (1-4)"),
		"ends with %d, %+v, %d duplicates: %s%s", code, run.Trials, run.Duplicates, stdout, stderr)
}

// A study that was edited after its run is named by what reads the run, and refused by
// what compares it.
func TestChangedStudyIsNamed(t *testing.T) {
	t.Parallel()
	build := result.Build{Version: "v0.1.0"}
	recorded := recordedLoop(t, build)
	dir, same := recorded(), recorded()
	edited(t, dir, store.StudyFile, "duration: 1s", "duration: 1.2s")
	const want = "workload tcp_rr: duration 1s in the run, 1.2s in study.yaml"
	unwrapped := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, c := range []struct {
		code int
		args []string
	}{{0, []string{"report", "--full", dir}}, {0, []string{"export", dir}}, {2, []string{"compare", same, dir}}, {2, []string{"check", "--baseline", dir, same}}} {
		if code, stdout, stderr := loop(t, build, c.args...); code != c.code || !strings.Contains(unwrapped(stdout+stderr), want) {
			t.Errorf("tare %s ends with %d, want %d and %q: %s%s", c.args[0], code, c.code, want, stdout, stderr)
		}
	}
	edited(t, dir, store.StudyFile, "duration: 1.2s", "duration: 1s")
	if _, stdout, stderr := loop(t, build, "report", "--full", dir); strings.Contains(stdout+stderr, "was changed after the run") {
		t.Errorf("as it was: %s%s", stdout, stderr)
	}
}

// A run without run.json is reported as one that has it: what was known at its start and
// after each block is on disk.
func TestReportOfKilledRun(t *testing.T) {
	t.Parallel()
	build := result.Build{Version: "v0.1.0", Commit: "abc"}
	dir := recordedLoop(t, build)()
	whole, _ := loaded(t, dir)
	must.Do(t, os.Remove(filepath.Join(dir, store.RunFile)))
	killed, _ := loaded(t, dir)
	type known struct {
		ID, Profile string
		Seed        uint64
		Tare        result.Build
		Hosts       []result.Host
		Modes       []result.Mode
		Stopping    *result.Stopping
	}
	of := func(r result.Run) known {
		for i := range r.Modes {
			r.Modes[i].Proof = nil // that of the last block may be newer
		}
		return known{r.ID, r.Profile, r.Seed, r.Tare, r.Hosts, r.Modes, nil}
	}
	if diff := cmp.Diff(of(whole), of(killed)); diff != "" || !killed.Started.Equal(whole.Started) {
		t.Errorf("(-ended +killed):\n%s", diff)
	}
	_, text, _ := loop(t, build, "report", "--full", dir)
	for _, want := range []string{"run " + whole.ID + ", profile quick", "tare v0.1.0 (abc)", "This run was interrupted", "tare run " + dir + "/study.yaml"} {
		must.True(t, strings.Contains(strings.ReplaceAll(text, "\n", ""), want), "%q is not in the report:\n%s", want, text)
	}
}

// A run whose result cannot be written is not called complete.
func TestUnwrittenResultIsNotComplete(t *testing.T) {
	t.Parallel()
	testneed.NotShort(t)
	dir := t.TempDir()
	file, out := filepath.Join(dir, "study.yaml"), filepath.Join(dir, "run")
	must.Do(t, os.WriteFile(file, []byte(loopStudy), 0o600))
	kind := sketchKind()
	sketch := kind.New
	kind.New = func(of study.Target, o hosts.Options) driver.Target {
		target := sketch(of, o)
		begin := target.Begin
		target.Begin = func(r driver.Run) (driver.HostInfo, error) {
			must.Do(t, os.Mkdir(filepath.Join(out, store.RunFile), 0o700)) // a directory takes the place of run.json during the run
			return begin(r)
		}
		return target
	}
	code, stdout, stderr := loopOn(t, kind, result.Build{Version: "v0.1.0"}, "run", file, "--out", out)
	must.True(t, code == 1 && !strings.Contains(stdout+stderr, "run complete") && strings.Contains(stderr, "run failed") && strings.Contains(stderr, store.RunFile),
		"ends with %d: %s%s", code, stdout, stderr)
}
