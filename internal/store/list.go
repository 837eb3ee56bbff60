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

// Summary is a run in a list. Problem says why only the path is known, for example
// because a later version of tare wrote run.json. Trials counts trials of any status.
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

// listDepth is how many levels below its directory List searches: enough for
// results/STUDY/RUN, and a limit in a home directory.
const listDepth = 3

// List finds the runs in dir, which may itself be one, and up to three levels below,
// newest first and those of unknown age last. It skips directories that are not runs,
// that begin with a dot or that cannot be read, and does not search inside a run. Errors:
// dir itself cannot be read.
func List(dir string) ([]Summary, error) {
	var runs []Summary
	// The separator at the end makes WalkDir follow dir if it is a symbolic link.
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

// depth is the number of levels of path below top.
func depth(top, path string) int {
	rel, err := filepath.Rel(top, path)
	if err != nil || rel == "." {
		return 0
	}
	return strings.Count(rel, string(filepath.Separator)) + 1
}

// summarize fails only if there is no run.
func summarize(path string) (Summary, error) {
	d, err := Open(path)
	if err != nil {
		return Summary{}, err
	}
	defer d.Close()
	// Read the trials, which may be many megabytes, only if run.json does not exist.
	run, err := d.readRun()
	if errors.Is(err, fs.ErrNotExist) || err == nil && d.superseded(run) {
		run, _, err = d.load(func(result.Run) parser { return parseSummary })
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
