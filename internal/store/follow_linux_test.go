package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tare/internal/testkit/must"
)

// A run whose directory is moved goes on there; one whose directory or trials are removed says so at the next trial.
func TestDirectoryIsFollowed(t *testing.T) {
	d := created(t)
	must.Do(t, d.Append(sample(1)))
	before, moved := d.Path(), filepath.Join(t.TempDir(), "moved")
	must.Do(t, os.Rename(before, moved), d.Append(sample(2)))
	must.EqualFor(t, "path", moved, d.Path())
	must.Do(t, os.Mkdir(before, 0o700), d.Append(sample(3))) // another directory has its name
	must.EqualFor(t, "path", moved, d.Path())
	must.EqualFor(t, "lines", 3, strings.Count(string(must.Get(os.ReadFile(filepath.Join(moved, TrialsFile)))(t)), "\n"))
	for what, remove := range map[string]func(*Dir) error{
		"the directory": func(d *Dir) error { return os.RemoveAll(d.Path()) },
		"the trials":    func(d *Dir) error { return os.Remove(filepath.Join(d.Path(), TrialsFile)) },
		"the trials, with others in their place": func(d *Dir) error {
			name := filepath.Join(d.Path(), TrialsFile)
			return errors.Join(os.Remove(name), os.WriteFile(name, nil, 0o600))
		},
	} {
		d := created(t)
		must.Do(t, d.Append(sample(1)), remove(d))
		for range 2 {
			err := d.Append(sample(2))
			must.True(t, errors.Is(err, ErrGone) && strings.Contains(err.Error(), "append trial 2 to "+d.Path()), "%s: %v", what, err)
		}
	}
}

// What is written after the last trial is checked in the same way: the result, a report, the record of a session.
func TestDirectoryIsFollowedAfterTrials(t *testing.T) {
	for what, write := range map[string]func(*Dir) error{
		"the result":  func(d *Dir) error { return d.WriteRun(wholeRun()) },
		"a report":    func(d *Dir) error { return d.WriteFile(PageFile, nil) },
		"a figure":    func(d *Dir) error { return d.WriteFile(FiguresDir+"/a.svg", nil) },
		"the session": func(d *Dir) error { return d.WriteSession(session("s", "1s", wholeRun().Tare)) },
	} {
		d := created(t)
		moved := filepath.Join(t.TempDir(), "moved")
		must.Do(t, d.Append(sample(1)), os.Rename(d.Path(), moved), write(d))
		must.EqualFor(t, what+": path", moved, d.Path())
		must.Do(t, os.RemoveAll(moved))
		err := write(d)
		must.True(t, errors.Is(err, ErrGone) && strings.Contains(err.Error(), "write "+moved), "%s: %v", what, err)
	}
}

// Nothing waits for the other end of a pipe, whichever file of a run it is.
func TestPipesAreRefused(t *testing.T) {
	for _, name := range []string{TrialsFile, RunFile, SessionsFile, StudyFile, lockFile, "log.txt"} {
		d := created(t)
		must.Do(t, d.Append(sample(1)), d.WriteStudy([]byte("name: x\n")), d.Close())
		path := filepath.Join(d.Path(), name)
		_ = os.Remove(path)
		must.Do(t, syscall.Mkfifo(path, 0o600))
		must.True(t, !IsLocked(d.Path()), "%s: locked", name)
		again, err := OpenAppend(d.Path())
		if slices.Contains([]string{TrialsFile, lockFile}, name) {
			must.True(t, errors.Is(err, errIrregular) || errors.Is(err, ErrNotRun), "%s: %v", name, err)
			continue
		}
		must.Do(t, err)
		var errs []error
		_, _, err = again.Load()
		errs = append(errs, err)
		_, err = ReadStudy(d.Path())
		errs = append(errs, err, again.AppendFile("log.txt", []byte("x")), again.Close())
		must.True(t, errors.Is(errors.Join(errs...), errIrregular), "%s: %v", name, errs)
	}
}
