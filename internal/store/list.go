package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/result"
)

// Summary is a run in a list. Problem says why only the path is known, for example
// because a later version of tare wrote run.json. Trials counts trials of any status, Valid those that count.
// Study is the name in study.yaml, and Hash that of what decides the results: of the
// settings of the last session, or of study.yaml without the seed if none is recorded.
// Both are empty if unknown. Workloads are those of the last session, none if unknown. Answer is
// the sentence of the run's report; empty if none was written since the run was evaluated.
type Summary struct {
	Path        string
	ID          string
	Started     time.Time
	Status      result.RunStatus
	Profile     string
	Trials      int
	Valid       int
	Modes       []string
	Workloads   []string
	Study, Hash string
	Answer      string
	Problem     string
}

// Outcome is the status of the run, and that none of its trials is valid.
func (s Summary) Outcome() string {
	if s.Valid == 0 {
		return string(s.Status) + ", nothing valid"
	}
	return string(s.Status)
}

// listDepth is how many levels below its directory List searches: enough for
// results/STUDY/RUN, and a limit in a home directory.
const listDepth = 3

// List finds the runs in dir, which may itself be one, and up to three levels below,
// newest first and those of unknown age last. It skips directories that are not runs,
// that begin with a dot or that cannot be read, and does not search inside a run. Errors: dir itself
// cannot be read.
func List(dir string) ([]Summary, error) {
	// The separator at the end makes WalkDir follow dir if it is a symbolic link.
	paths, err := findRuns(filepath.Clean(dir) + string(filepath.Separator))
	if err != nil {
		return nil, fmt.Errorf("list runs in %s: %w", dir, err)
	}
	runs := readAll(paths)
	slices.SortStableFunc(runs, func(a, b Summary) int { return newestFirst(&a, &b) })
	return runs, nil
}

// Find reads the summary of the run that [List] of dir has at that path below dir, with slashes and "." for dir
// itself. Errors: fs.ErrNotExist if the list has none there.
func Find(dir, rel string) (Summary, error) {
	path := filepath.Clean(dir)
	if rel != "." {
		parts := strings.Split(rel, "/")
		if !filepath.IsLocal(filepath.FromSlash(rel)) || len(parts) > listDepth {
			return Summary{}, fs.ErrNotExist
		}
		for _, part := range parts {
			if isRun(path) || strings.HasPrefix(part, ".") || part == "" {
				return Summary{}, fs.ErrNotExist
			}
			path = filepath.Join(path, part)
			if info, err := os.Lstat(path); err != nil || !info.IsDir() {
				return Summary{}, fs.ErrNotExist
			}
		}
	}
	if !isRun(path) {
		return Summary{}, fs.ErrNotExist
	}
	found, _, err := readListed(path, true, parseListed)
	if errors.Is(err, ErrNotRun) {
		err = fs.ErrNotExist // removed meanwhile
	}
	return found, err
}

// EachRecord calls visit for the runs that List finds and want accepts, oldest first and
// those of unknown age last. One record is in memory at a time. Errors: those of List and of visit,
// which ends it.
func EachRecord(dir string, want func(Summary) bool, visit func(Record) error) error {
	runs, err := List(dir)
	if err != nil {
		return err
	}
	for _, known := range []bool{true, false} {
		for _, r := range slices.Backward(runs) {
			if r.Started.IsZero() == known || !want(r) {
				continue
			}
			rec, err := readRecord(r.Path)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotRun) {
				continue // removed meanwhile
			}
			if err == nil {
				err = visit(rec)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// findRuns finds the directories of runs without reading more than the state of files.
func findRuns(top string) ([]string, error) {
	var runs []string
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
		case isRun(path):
			runs = append(runs, filepath.Clean(path))
			return fs.SkipDir
		case depth(top, path) == listDepth:
			return fs.SkipDir
		}
		return nil
	})
	return runs, err
}

// isRun reports whether a directory is a run's.
func isRun(dir string) bool {
	other := false
	for _, name := range []string{RunFile, TrialsFile} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err == nil && info.Mode().IsRegular() {
			return true
		}
		other = other || !errors.Is(err, fs.ErrNotExist)
	}
	if !other {
		return false
	}
	d, err := Open(dir) // which follows links within it
	return err == nil && d.Close() == nil
}

// depth is the number of levels of path below top.
func depth(top, path string) int {
	rel, err := filepath.Rel(top, path)
	if err != nil || rel == "." {
		return 0
	}
	return strings.Count(rel, string(filepath.Separator)) + 1
}

// readAll reads the summaries of runs in parallel, then those of runs that have to be read alone. Those that are gone
// are left out.
func readAll(paths []string) (all []Summary) {
	var mu sync.Mutex
	var large []string
	read := func(path string, alone bool) {
		found, _, err := readListed(path, alone, parseListed)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case !alone && errors.Is(err, errTooLarge):
			large = append(large, path)
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotRun):
		case err != nil:
			all = append(all, Summary{Path: path, Problem: err.Error()})
		default:
			all = append(all, found)
		}
	}
	todo := make(chan string)
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), mostWorkers, len(paths)) {
		wait.Go(func() {
			for path := range todo {
				read(path, false)
			}
		})
	}
	for _, path := range paths {
		todo <- path
	}
	close(todo)
	wait.Wait()
	for _, path := range large {
		read(path, true)
	}
	return all
}
