//go:build linux

package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
)

// after calls act with the run's directory when the nth trial has been recorded. A run of scriptOf two modes has 4.
func after(t *testing.T, n int, act func(dir string) error) *scripted {
	t.Helper()
	s := scriptOf("host", "netns/bridge")
	dir, ended := "", 0
	s.on = func(e live.Event) {
		switch e := e.(type) {
		case live.Planned:
			dir = e.Dir
		case live.TrialEnded:
			if ended++; ended == n {
				must.Do(t, act(dir))
			}
		}
	}
	return s
}

// A run whose directory is moved goes on in it, says so at the next trial, and names the new path at its end.
func TestMovedDirectory(t *testing.T) {
	for trial, want := range map[int]int{1: 1, 4: 0} {
		moved := filepath.Join(t.TempDir(), "moved")
		s := after(t, trial, func(dir string) error { return os.Rename(dir, moved) })
		must.Do(t, s.runs(t))
		told := of[live.Moved](s)
		if len(told) != want || want > 0 && told[0].Dir != moved {
			t.Errorf("after trial %d: told %+v", trial, told)
		}
		must.EqualFor(t, "the end", []live.Ended{{Status: result.RunComplete, Dir: moved}}, of[live.Ended](s))
		must.EqualFor(t, "trials", 4, len(s.trials))
	}
}

// A run whose directory is removed measures nothing more that would be lost, and fails with one line that says why.
func TestRemovedDirectory(t *testing.T) {
	for trial, measured := range map[int]int{1: 1, 4: 4} {
		s := after(t, trial, os.RemoveAll)
		err := s.runs(t)
		must.True(t, errors.Is(err, store.ErrGone) && !strings.Contains(err.Error(), "\n"), "after trial %d: %v", trial, err)
		must.EqualFor(t, "recorded", measured, len(of[live.TrialEnded](s)))
		if end := of[live.Ended](s); len(end) != 1 || end[0].Status != result.RunFailed {
			t.Errorf("after trial %d: it ends with %+v", trial, end)
		}
	}
}

// A directory that is removed while the modes are torn down is one error, not also what could not be read of it.
func TestRemovedDuringTeardown(t *testing.T) {
	dir := must.Get(store.Create(filepath.Join(t.TempDir(), "run")))(t)
	defer dir.Close()
	r := newRun(Config{Study: scriptOf("host").study, Dir: dir, Listener: silent{}, Machines: driver.HostInfo{Hosts: labdriver.Hosts(), CPUs: []int{0}}})
	defer r.observer.Close()
	must.Do(t, os.RemoveAll(dir.Path()))
	if err := r.conclude(); !errors.Is(err, store.ErrGone) || strings.Contains(err.Error(), "\n") || r.out.Status != result.RunFailed {
		t.Errorf("%s: %v", r.out.Status, err)
	}
}
