package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/result"
)

// Summary is a run in a list. Problem says why only the path is known, for example
// because a later version of tare wrote run.json. Trials counts trials of any status.
// Study is the name in study.yaml, and Hash that of what decides the results: of the
// settings of the last session, or of study.yaml without the seed if none is recorded.
// Both are empty if unknown.
type Summary struct {
	Path        string
	ID          string
	Started     time.Time
	Status      result.RunStatus
	Profile     string
	Trials      int
	Modes       []string
	Study, Hash string
	Problem     string
}

// listDepth is how many levels below its directory List searches: enough for
// results/STUDY/RUN, and a limit in a home directory.
const listDepth = 3

// List finds the runs in dir, which may itself be one, and up to three levels below,
// newest first and those of unknown age last. It skips directories that are not runs,
// that begin with a dot or that cannot be read, and does not search inside a run. What it
// reads of many runs it keeps in an index, see [IndexFile]. Errors: dir itself cannot be
// read.
func List(dir string) ([]Summary, error) {
	l, err := scan(dir, wholeIndex())
	if err != nil {
		return nil, err
	}
	defer l.close()
	out := make([]Summary, 0, len(l.runs))
	for _, r := range l.runs {
		out = append(out, r.summary)
	}
	return out, nil
}

// EachRecord calls visit for the runs that List finds and want accepts, oldest first and
// those of unknown age last. One record is in memory at a time, and nothing more than the
// summary is read of a run that want does not accept. Errors: those of List and of visit,
// which ends it.
func EachRecord(dir string, want func(Summary) bool, visit func(Record) error) error {
	l, err := scan(dir, wholeIndex())
	if err != nil {
		return err
	}
	defer l.close()
	for _, known := range []bool{true, false} {
		for _, r := range slices.Backward(l.runs) {
			if r.summary.Started.IsZero() == known || !want(r.summary) {
				continue
			}
			rec, err := l.record(r)
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

// listing is what a directory contains. Its index stays open for the records.
type listing struct {
	runs  []*listed
	index *index
}

// listed is a run in a listing.
type listed struct {
	found
	summary Summary
	entry   *entry // nil if it does not fit into the index
}

func (l *listing) close() { l.index.close() }

// record is the record of a run, from the index or its directory.
func (l *listing) record(r *listed) (Record, error) {
	if r.entry != nil {
		run, err := l.index.run(r.entry)
		if err == nil {
			return Record{Summary: r.summary, Run: run}, nil
		}
		l.index.discard()
	}
	if r.summary.Problem != "" {
		return Record{Summary: r.summary}, nil
	}
	return readRecord(r.path, true)
}

// found is a run in a directory: its path, also below the directory, and the fingerprint
// of its files. The fingerprint is empty if their state cannot tell whether they change.
type found struct {
	path, rel string
	print     fingerprint
}

// scan lists the runs below a directory. It reads those that the index does not have or
// that changed, and then replaces the index.
func scan(dir string, o indexOptions) (*listing, error) {
	// The separator at the end makes WalkDir follow dir if it is a symbolic link.
	top := filepath.Clean(dir) + string(filepath.Separator)
	runs, err := findRuns(top, o)
	if err != nil {
		return nil, fmt.Errorf("list runs in %s: %w", dir, err)
	}
	l := &listing{index: openIndex(top, o)}
	var unknown []*listed
	for _, f := range runs {
		r := &listed{found: f, entry: l.index.lookup(f)}
		if r.entry != nil {
			r.summary = r.entry.summary
			r.summary.Path = f.path
		} else {
			unknown = append(unknown, r)
		}
		l.runs = append(l.runs, r)
	}
	gone := readAll(unknown, func(r *listed, rec Record) {
		r.summary = rec.Summary
		if rec.Problem == "" {
			r.entry = l.index.add(r.found, rec)
		}
	})
	l.runs = slices.DeleteFunc(l.runs, func(r *listed) bool { return gone[r] })
	slices.SortStableFunc(l.runs, func(a, b *listed) int { return newestFirst(&a.summary, &b.summary) })
	l.index.save(l.runs)
	return l, nil
}

// findRuns finds the directories of runs without reading more than the state of files.
func findRuns(top string, o indexOptions) ([]found, error) {
	var runs []found
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
		if print, is := o.inspect(path); is {
			rel, err := filepath.Rel(top, path)
			if err != nil {
				return fs.SkipDir
			}
			runs = append(runs, found{path: filepath.Clean(path), rel: filepath.ToSlash(rel), print: print})
			return fs.SkipDir
		}
		if depth(top, path) == listDepth {
			return fs.SkipDir
		}
		return nil
	})
	return runs, err
}

// depth is the number of levels of path below top.
func depth(top, path string) int {
	rel, err := filepath.Rel(top, path)
	if err != nil || rel == "." {
		return 0
	}
	return strings.Count(rel, string(filepath.Separator)) + 1
}

// readAll reads runs in parallel, then those that have to be read alone, and returns
// those that are gone. It calls done for each other run, never twice at once.
func readAll(runs []*listed, done func(*listed, Record)) (gone map[*listed]bool) {
	var mu sync.Mutex
	gone = map[*listed]bool{}
	var large []*listed
	read := func(r *listed, alone bool) {
		rec, err := readRecord(r.path, alone)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case !alone && errors.Is(err, errTooLarge):
			large = append(large, r)
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotRun):
			gone[r] = true
		case err != nil:
			done(r, Record{Summary: Summary{Path: r.path, Problem: err.Error()}})
		default:
			done(r, rec)
		}
	}
	todo := make(chan *listed)
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), mostWorkers, len(runs)) {
		wait.Go(func() {
			for r := range todo {
				read(r, false)
			}
		})
	}
	for _, r := range runs {
		todo <- r
	}
	close(todo)
	wait.Wait()
	for _, r := range large {
		read(r, true)
	}
	return gone
}
