package runner

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"testing/synctest"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// bridgeOf gives netns/bridge a version, which decides its trials, and an address, which differs at each set-up.
func bridgeOf(version string) func(mode string, nth int) []result.Fact {
	return func(mode string, nth int) []result.Fact {
		if mode != "netns/bridge" {
			return nil
		}
		return []result.Fact{{Name: "address", Value: fmt.Sprint(version, nth)}, result.Deciding("engine", version)}
	}
}

// session runs the first or the next session of the run in a directory.
func (s *scripted) session(t *testing.T, path string, n int, force bool) (err error) {
	t.Helper()
	s.made, s.closed, s.events = map[string]int{}, map[string]int{}, nil
	synctest.Test(t, func(t *testing.T) {
		dir := must.Get(store.OpenAppend(path))(t)
		defer dir.Close()
		build := result.Build{Version: "test"}
		var done store.Resumption
		if n > 1 {
			done = must.Get(dir.Resume(result.Session{Run: result.Run{Tare: build}, Settings: plan.Settings(s.study)}))(t)
		}
		s.run, err = s.newRun(Config{RunID: fmt.Sprint("session ", n), Dir: dir, Build: build, Resumed: done, Force: force}).whole(t.Context())
	})
	must.Equal(t, s.made, s.closed)
	return err
}

// begun is a run of one block over host and netns/bridge with a version, which is to have a second block.
func begun(t *testing.T, version string) (*scripted, string) {
	t.Helper()
	dir := must.Get(store.Create(filepath.Join(t.TempDir(), "run")))(t)
	must.Do(t, dir.Close())
	s := scriptOf("host", "netns/bridge")
	s.facts, s.study.Blocks = bridgeOf(version), 1
	must.Do(t, s.session(t, dir.Path(), 1, false))
	s.study.Blocks = 2
	return s, dir.Path()
}

// files are the files of a run that tell what it measured.
func files(t *testing.T, path string) (all [][]byte) {
	t.Helper()
	for _, name := range []string{store.SessionsFile, store.TrialsFile, store.RunFile} {
		all = append(all, must.Get(os.ReadFile(filepath.Join(path, name)))(t))
	}
	return all
}

func bridgeCell(t *testing.T, run result.Run) result.Cell {
	t.Helper()
	for _, c := range run.Cells {
		if c.Mode == "netns/bridge" {
			return c
		}
	}
	t.Fatal("netns/bridge has no cell")
	return result.Cell{}
}

// A run whose modes are what they were goes on, with other addresses; so does one whose trials have no hash.
func TestResumedWithSameFacts(t *testing.T) {
	for name, edit := range map[string]func(trials []byte) []byte{
		"recorded": func(trials []byte) []byte { return trials },
		"of an older tare": func(trials []byte) []byte {
			return regexp.MustCompile(`"facts_hash":"[0-9a-f]+",`).ReplaceAll(trials, nil)
		},
	} {
		s, path := begun(t, "1.0")
		file := filepath.Join(path, store.TrialsFile)
		trials := edit(must.Get(os.ReadFile(file))(t))
		must.Do(t, os.WriteFile(file, trials, 0o600))
		must.EqualFor(t, name, name == "recorded", bytes.Contains(trials, []byte("facts_hash")))
		must.Do(t, s.session(t, path, 2, false))
		must.True(t, s.run.Apart == nil && s.run.Trials.OK == 4 && bridgeCell(t, s.run).N == 2, "%s: %+v, apart %+v", name, s.run.Trials, s.run.Apart)
	}
}

// A run of which a mode is another one is refused before the first trial, and stays as it was. What differs is named.
func TestResumedWithOtherFacts(t *testing.T) {
	s, path := begun(t, "1.0")
	before := files(t, path)
	s.facts = bridgeOf("1.1")
	other, ok := errors.AsType[*OtherExperimentError](s.session(t, path, 2, false))
	must.Require(t, ok && other.Cleanup == nil, "the run was resumed: %v", other)
	must.Equal(t, result.Tally{OK: 1}, other.Apart.Trials)
	must.Require(t, len(other.Apart.Causes) == 1, "causes %+v", other.Apart.Causes)
	must.Contain(t, other.Apart.Causes[0].Text(store.StudyFile), "facts of mode netns/bridge: engine was 1.0 in trials ", " and is 1.1")
	must.Equal(t, before, files(t, path))

	// As it was, it goes on.
	s.facts = bridgeOf("1.0")
	must.Do(t, s.session(t, path, 3, false))
	must.True(t, s.run.Apart == nil && bridgeCell(t, s.run).N == 2, "apart %+v", s.run.Apart)
}

// With force the trials of the other mode are set apart and measured again. The next session goes on beside them,
// and one with the first facts is refused, as they were measured with others.
func TestForcedWithOtherFacts(t *testing.T) {
	s, path := begun(t, "1.0")
	s.facts = bridgeOf("1.1")
	must.Do(t, s.session(t, path, 2, true))
	must.Require(t, s.run.Apart != nil && s.run.Apart.Trials == result.Tally{OK: 1}, "apart %+v", s.run.Apart)
	must.True(t, s.run.Trials.OK == 4 && bridgeCell(t, s.run).N == 2, "%+v, a cell of %d blocks", s.run.Trials, bridgeCell(t, s.run).N)
	planned := must.Get(store.Open(path))(t)
	defer planned.Close()
	run, trials := must.Get2(planned.Load())(t)
	must.True(t, len(trials) == 4 && run.Apart.Trials.OK == 1, "%d trials are read, apart %+v", len(trials), run.Apart)

	s.study.Blocks = 3
	must.Do(t, s.session(t, path, 3, false))
	must.True(t, s.run.Apart.Trials.OK == 1 && bridgeCell(t, s.run).N == 3, "apart %+v, a cell of %d blocks", s.run.Apart, bridgeCell(t, s.run).N)

	s.facts, s.study.Blocks = bridgeOf("1.0"), 4
	other, ok := errors.AsType[*OtherExperimentError](s.session(t, path, 4, false))
	must.True(t, ok && other.Apart.Trials.OK == 3, "resumed with the first version: %v", other)
}

// A mode that becomes another one between two blocks has no further trials.
func TestFactsChangeDuringRun(t *testing.T) {
	s := scriptOf("host", "netns/bridge", "netns/macvlan")
	s.study.Recreate = study.RecreateEvery(1)
	s.facts = func(mode string, nth int) []result.Fact { return bridgeOf(fmt.Sprint("1.", min(nth, 2)))(mode, nth) }
	must.Do(t, s.runs(t))
	must.Equal(t, result.ModeFailed, s.run.Modes[1].Status)
	must.Contain(t, s.run.Modes[1].Reason, "the mode was changed during the run: engine was 1.1 and is 1.2; start a new run")
	for _, tr := range s.trials {
		must.True(t, tr.Mode != "netns/bridge" || tr.Block == 1, "a trial of block %d", tr.Block)
	}
}
