package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/result"
)

// Summary is a run in a list. Problem says why nothing but the path is known of
// it, such as a run.json that a later version of tare wrote. Trials counts all of
// them, however they ended.
type Summary struct {
	Path    string
	ID      string
	Started time.Time
	Status  result.RunStatus
	Profile string
	Trials  int
	Modes   []string
	Problem string
}

// listDepth is how far below its directory List looks: deep enough for
// results/STUDY/RUN, and a bound in a home directory.
const listDepth = 3

// List finds the runs in dir, itself one perhaps, and up to three folders below,
// newest first and those of unknown age last. Folders that are no runs, that begin with a dot or that cannot be
// read are passed over, and nothing is looked for inside a run. Errors: dir itself
// cannot be read.
func List(dir string) ([]Summary, error) {
	var runs []Summary
	// The separator at its end makes WalkDir follow dir if it is a symbolic link.
	top := filepath.Clean(dir) + string(filepath.Separator)
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == top:
			return err
		case err != nil:
			return fs.SkipDir
		case !e.IsDir():
			return nil
		case path != top && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		}
		s, err := summarize(path)
		if err == nil {
			runs = append(runs, s)
			return fs.SkipDir
		}
		if depth(top, path) == listDepth {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list runs in %s: %w", dir, err)
	}
	slices.SortStableFunc(runs, func(a, b Summary) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.Path, b.Path))
	})
	return runs, nil
}

// depth is how many folders below top a path is.
func depth(top, path string) int {
	rel, err := filepath.Rel(top, path)
	if err != nil || rel == "." {
		return 0
	}
	return strings.Count(rel, string(filepath.Separator)) + 1
}

// summarize fails only for what is no run.
func summarize(path string) (Summary, error) {
	d, err := Open(path)
	if err != nil {
		return Summary{}, err
	}
	defer d.Close()
	// The trials, which may be many megabytes, only where run.json is not there.
	run, err := d.readRun()
	if errors.Is(err, fs.ErrNotExist) {
		run, _, err = d.LoadPartial()
	}
	if err != nil {
		return Summary{Path: d.Path(), Problem: err.Error()}, nil
	}
	s := Summary{Path: d.Path(), ID: run.ID, Started: run.Started, Status: run.Status, Profile: run.Profile, Trials: run.Trials.Total()}
	for _, m := range run.Modes {
		s.Modes = append(s.Modes, m.ID)
	}
	return s, nil
}
