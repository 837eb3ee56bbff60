package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/warning"
)

// session is one of a run with the mode host, a workload of that length, and a build.
func session(id, duration string, build result.Build) result.Session {
	return result.Session{
		Run: result.Run{Schema: result.Schema, ID: id, Started: noon, Status: result.RunInterrupted, Tare: build, Seed: 7, Profile: "quick",
			Hosts: wholeRun().Hosts, Modes: wholeRun().Modes},
		Settings: result.Settings{
			Study: map[string]string{"modes": "host"}, Modes: map[string]map[string]string{"host": {"mode": "host"}},
			Workloads: map[string]map[string]string{"tcp_rr": {"workload": "tcp_rr", "duration": duration}},
		},
	}
}

// trialIn is a trial of a session.
func trialIn(s result.Session, seq int) result.Trial {
	t := sample(seq)
	t.Mode, t.Workload = "host", "tcp_rr"
	t.Experiment, t.Tare = s.Settings.Experiment(t.Mode, t.Workload), s.Run.Tare.String()
	return t
}

// putTogether is the directory of a run with these sessions and trials.
func putTogether(t *testing.T, sessions []result.Session, trials ...result.Trial) *Dir {
	t.Helper()
	d := created(t)
	for _, s := range sessions {
		must.Do(t, d.WriteSession(s))
	}
	for _, tr := range trials {
		must.Do(t, d.Append(tr))
	}
	return d
}

// Trials of other settings, of another build and of neither known count for no session
// but their own, and every cause is named.
func TestTrialsOfOtherExperimentsAreApart(t *testing.T) {
	v1, v2 := result.Build{Version: "v0.1.0", Commit: "abc"}, result.Build{Version: "v0.2.0", Commit: "def"}
	short, long, newer := session("s1", "300ms", v1), session("s2", "900ms", v1), session("s3", "900ms", v2)
	old, stray := trialIn(short, 7), trialIn(short, 8)
	old.Experiment, old.Tare, stray.Experiment = "", "", "0123456789abcdef"
	d := putTogether(t, []result.Session{short, long, newer}, trialIn(short, 1), trialIn(short, 2), trialIn(long, 3), trialIn(newer, 4), trialIn(newer, 6), old, stray)
	for name, load := range map[string]func() (result.Run, []result.Trial, error){"whole": d.Load, "partial": d.LoadPartial} {
		run, trials := must.Get2(load())(t)
		must.EqualFor(t, name+": trials that count", []int{4, 6}, seqs(trials))
		want := &result.Apart{Trials: result.Tally{OK: 5}, Numbers: "1-3, 7-8", Causes: []result.Cause{
			{Scope: "tare", Then: "v0.1.0 (abc)", Now: "v0.2.0 (def)", Trials: "1-3, 8"},
			{Scope: "workload tcp_rr", Key: "duration", Then: "300ms", Now: "900ms", Trials: "1-2"},
			{Scope: "tare", Now: "v0.2.0 (def)", Trials: "7"},
			{Scope: "settings", Trials: "8"},
		}}
		must.EqualFor(t, name, want, run.Apart)
		must.True(t, len(run.Warnings) == 1 && run.Warnings[0].Code == string(warning.OtherExperiment) && run.Trials.OK == 2, "%s: %+v, warnings %+v", name, run.Trials, run.Warnings)
	}
	resumed := must.Get(d.Resume(long))(t)
	if diff := cmp.Diff([]int{3}, seqs(resumed.Trials)); diff != "" || resumed.Apart.Trials.OK != 6 || resumed.Last != 8 || resumed.Forced {
		t.Errorf("resumed as the second session: %+v\n%s", resumed, diff)
	}
}

// What a session reads back for its evaluation is its own trials, without what no evaluation
// reads, however much memory they take.
func TestRecorded(t *testing.T) {
	v1 := result.Build{Version: "v0.1.0", Commit: "abc"}
	short, long := session("s1", "300ms", v1), session("s2", "900ms", v1)
	d := putTogether(t, []result.Session{short, long}, trialIn(short, 1), trialIn(long, 2), trialIn(long, 3))
	d.LimitMemory(1)
	trials := must.Get(d.Recorded(long))(t)
	must.EqualFor(t, "trials", []int{2, 3}, seqs(trials))
	want := trialIn(long, 2)
	want.Client, want.Server = settings(want.Client), settings(want.Server)
	want.Series, want.Counters = nil, nil
	must.Equal(t, want, trials[0])
	must.FailFor(t, "the limit of memory of what others wrote was not applied", must.Err(d.Resume(long)))
	if trials := must.Get(created(t).Recorded(long))(t); len(trials) > 0 {
		t.Errorf("an empty run has %d trials", len(trials))
	}
}

// A session learns on which machine the last one ran, and whether the machine changed before that.
func TestResumeTellsMachine(t *testing.T) {
	short := session("s1", "300ms", result.Build{Version: "v1"})
	short.Run.Hosts = []result.Host{{Name: "a", Facts: []result.Fact{{Name: "microcode", Value: "0x1"}}}}
	changed := result.Warning{Code: string(warning.MachineChanged), Scope: "run", Text: "of before"}
	short.Run.Warnings = []result.Warning{{Code: string(warning.BusyMachine), Scope: "run", Text: "then"}, changed}
	d := putTogether(t, []result.Session{short}, trialIn(short, 1))
	r := must.Get(d.Resume(short))(t)
	must.Equal(t, short.Run.Hosts, r.Hosts)
	must.Equal(t, []result.Warning{changed}, r.Warnings)
}

// Once forced, a run goes on beside the same other trials, and beside no others.
func TestForcedOnce(t *testing.T) {
	short, long := session("s1", "300ms", result.Build{Version: "v1"}), session("s2", "900ms", result.Build{Version: "v1"})
	long.Forced = true
	d := putTogether(t, []result.Session{short, long}, trialIn(short, 1))
	r := must.Get(d.Resume(long))(t)
	must.True(t, r.Forced && r.Apart != nil, "the same again: %+v", r)
	if r := must.Get(d.Resume(session("s3", "1s", result.Build{Version: "v1"})))(t); r.Forced || r.Apart == nil {
		t.Errorf("another study: %+v", r)
	}
	if r := must.Get(d.Resume(session("s3", "300ms", result.Build{Version: "v1"})))(t); r.Apart != nil || len(r.Trials) != 1 {
		t.Errorf("as it began: %+v", r)
	}
}

// Lines that repeat a trial count once, with and without a record of sessions; trials of
// an older program, of which neither settings nor build are known, remain together.
func TestRepeatedTrialsCountOnce(t *testing.T) {
	s := session("s1", "300ms", result.Build{Version: "v1"})
	known := []result.Trial{trialIn(s, 1), trialIn(s, 2), trialIn(s, 3)}
	old := []result.Trial{sample(1), sample(2), sample(3)}
	for name, c := range map[string]struct {
		sessions []result.Session
		trials   []result.Trial
	}{"recorded": {[]result.Session{s}, known}, "without sessions": {nil, known}, "older": {nil, old}} {
		d := putTogether(t, c.sessions, append(c.trials, c.trials[1], c.trials[0])...)
		run, trials := must.Get2(d.Load())(t)
		if diff := cmp.Diff([]int{1, 2, 3}, seqs(trials)); diff != "" || run.Duplicates != 2 || run.Apart != nil {
			t.Errorf("%s: %d duplicates, apart %+v (-want +got):\n%s", name, run.Duplicates, run.Apart, diff)
		}
		must.True(t, len(run.Warnings) == 1 && run.Warnings[0].Code == string(warning.DuplicateTrials), "%s: warnings %+v", name, run.Warnings)
	}
}

// A directory without a record of sessions is not pooled either.
func TestMixedWithoutSessions(t *testing.T) {
	one, other := session("s1", "300ms", result.Build{Version: "v1"}), session("s2", "900ms", result.Build{Version: "v1"})
	run, trials := must.Get2(putTogether(t, nil, trialIn(one, 1), trialIn(other, 2), trialIn(other, 3)).Load())(t)
	diff := cmp.Diff([]int{2, 3}, seqs(trials))
	must.True(t, diff == "" && run.Apart != nil && run.Apart.Trials.OK == 1, "apart %+v (-want +got):\n%s", run.Apart, diff)
}

// What the run knew at its start is there after it was killed, also when an earlier
// session ended and left its run.json.
func TestKilledRunIsKnown(t *testing.T) {
	s := session("s2", "300ms", result.Build{Version: "v0.1.0", Commit: "abc"})
	for name, earlier := range map[string]bool{"killed": false, "resumed and killed": true} {
		d := putTogether(t, []result.Session{s}, trialIn(s, 1))
		if earlier {
			must.Do(t, d.WriteRun(wholeRun()))
		}
		run, _ := must.Get2(d.Load())(t)
		want := s.Run
		want.Trials = result.Tally{OK: 1}
		must.EqualFor(t, name, want, run)
		listed := must.Get(List(d.Path()))(t)
		must.True(t, len(listed) == 1 && listed[0].ID == "s2" && listed[0].Status == result.RunInterrupted && listed[0].Trials == 1, "%s is listed as %+v", name, listed)
	}
}

// Of earlier sessions the file keeps what tells their trials apart.
func TestSessionsAreKept(t *testing.T) {
	a, b := session("s1", "300ms", result.Build{Version: "v1"}), session("s2", "900ms", result.Build{Version: "v2"})
	d := putTogether(t, []result.Session{a})
	again := must.Get(Open(d.Path()))(t)
	defer again.Close()
	must.Do(t, again.WriteSession(b))
	b.Run.Warnings = wholeRun().Warnings
	must.Do(t, again.WriteSession(b))
	a.Run.Hosts, a.Run.Modes = nil, nil
	must.Equal(t, []result.Session{a, b}, must.Get(d.readSessions())(t))
	for content, want := range map[string]string{`{"schema":"tare.sessions/2"}`: "tare.sessions/2", `{"schema"`: "it was cut or edited", `[]`: "it is not an object"} {
		must.Do(t, os.WriteFile(filepath.Join(d.Path(), SessionsFile), []byte(content), 0o600))
		_, _, err := d.Load()
		wantErr(t, err, "", SessionsFile)
		wantErr(t, err, "", want)
	}
}

func TestNumbers(t *testing.T) {
	for want, seqs := range map[string][]int{
		"": nil, "4": {4}, "1-3": {3, 1, 2, 2}, "1-2, 5": {1, 2, 5}, "1, 3, 5, 7, 9, 11 and 2 more": {1, 3, 5, 7, 9, 11, 13, 15},
	} {
		must.EqualFor(t, seqs, want, numbers(seqs))
	}
}

// A run that would exceed what readers accept ends before that, and its file is as it was.
func TestAppendFull(t *testing.T) {
	d := created(t)
	must.Do(t, d.Append(sample(1)))
	d.size = maxTrialsFile - 10
	err := d.Append(sample(2))
	wantErr(t, err, TrialsFile, ": the file would exceed 128 MiB")
	_, trials, err := d.Load()
	must.Do(t, err)
	must.Equal(t, 1, len(trials))
	must.Do(t, d.Close())
	again := must.Get(OpenAppend(d.Path()))(t)
	defer again.Close()
	info := must.Get(os.Stat(filepath.Join(d.Path(), TrialsFile)))(t)
	must.True(t, again.size == info.Size(), "reopened with %d of %d bytes", again.size, info.Size())
}

// Trials of a mode whose facts that decide its trials were others are apart. A session that has not set the mode up has what the
// newest trial has; trials without a hash can have had any.
func TestTrialsOfOtherFactsAreApart(t *testing.T) {
	with := func(id string, facts ...result.Fact) result.Session {
		s := session(id, "300ms", result.Build{Version: "v1"})
		s.Run.Modes = []result.Mode{{ID: "host", Facts: facts}}
		return s
	}
	trial := func(of result.Session, seq int) result.Trial {
		tr := trialIn(of, seq)
		tr.FactsHash = result.FactsHash(of.Run.Modes[0].Facts)
		return tr
	}
	address := result.Fact{Name: "address", Value: "10.0.0.1"}
	a, b := with("s1", result.Deciding("engine", "1"), address), with("s2", address, result.Deciding("engine", "2"))
	tests := []struct {
		name     string
		sessions []result.Session
		own      []int
		causes   []result.Cause
	}{
		{"the last session's", []result.Session{b, a}, []int{1, 2, 4}, []result.Cause{{Scope: "facts of mode host", Key: "engine", Then: "2", Now: "1", Trials: "3"}}},
		{"the newest trial's", []result.Session{a, b, with("s3")}, []int{3, 4}, []result.Cause{{Scope: "facts of mode host", Key: "engine", Then: "1", Now: "2", Trials: "1-2"}}},
		{"not recorded", []result.Session{b}, []int{3, 4}, []result.Cause{{Scope: "settings", Trials: "1-2"}}},
		{"without sessions", nil, []int{3, 4}, []result.Cause{{Scope: "settings", Trials: "1-2"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run, trials := must.Get2(putTogether(t, tt.sessions, trial(a, 1), trial(a, 2), trial(b, 3), trialIn(a, 4)).Load())(t)
			must.Equal(t, tt.own, seqs(trials))
			must.Equal(t, tt.causes, run.Apart.Causes)
		})
	}
}

// A session that is withdrawn leaves the record as it was.
func TestSessionIsWithdrawn(t *testing.T) {
	a, b := session("s1", "300ms", result.Build{Version: "v1"}), session("s2", "900ms", result.Build{Version: "v1"})
	d := putTogether(t, []result.Session{a})
	again := must.Get(Open(d.Path()))(t)
	defer again.Close()
	must.Do(t, again.WriteSession(b))
	must.Do(t, again.WriteSession(b))
	must.Do(t, again.WithdrawSession())
	must.Equal(t, []result.Session{a}, must.Get(d.readSessions())(t))
}
