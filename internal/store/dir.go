// Package store reads and writes the directory of a run. Files are replaced atomically,
// and a killed run loses at most the line that it was writing. Reading has limits on the
// memory that a broken file can make a reader allocate.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"tare/internal/result"
)

// The files of a run's directory that this package defines.
const (
	StudyFile  = "study.yaml"    // the resolved study
	TrialsFile = "trials.ndjson" // one line per trial, on disk when the trial ends
	RunFile    = "run.json"      // written when the run ends
)

// What else is written into a run's directory, with [Dir.WriteFile] and [Dir.AppendFile].
const (
	PageFile   = "report.html"
	TextFile   = "report.md"
	AnswerFile = "answer.txt" // the sentence of the report's first screen, for lists of runs
	FiguresDir = "figures"    // with files *.svg
)

var (
	// ErrExists means that a directory for a new run is not empty.
	ErrExists = errors.New("not an empty directory")
	// ErrNotRun means that a directory contains no run.
	ErrNotRun = errors.New("not a run's directory: neither " + TrialsFile + " nor " + RunFile + " in it")
	// ErrInUse means that another process is appending to the run.
	ErrInUse = errors.New("in use by another tare process")
)

// Dir is a run's directory. It is safe for concurrent use.
type Dir struct {
	folder
	memory int64 // that the values of a file may take

	mu     sync.Mutex
	trials *os.File // nil unless opened for appending
	size   int64    // of the trials, in bytes
	lock   *os.File // held while the trials are open for appending
	broken error    // of the first Append that failed

	sessions     []result.Session // see WriteSession
	earlier      []result.Session // those before its first call, see WithdrawSession
	sessionsRead bool
}

// Create creates the directory of a new run, with its parents. An empty existing
// directory is accepted. Errors: ErrExists if it contains anything, so that no run
// overwrites another; an error that prevents creating it or writing to it.
func Create(path string) (*Dir, error) {
	d, err := create(path)
	if err != nil {
		return nil, fmt.Errorf("create run directory %s: %w", path, err)
	}
	return d, nil
}

func create(path string) (*Dir, error) {
	if err := makeAll(path); err != nil {
		return nil, err
	}
	d, err := open(path)
	if err != nil {
		return nil, err
	}
	if err := d.createFiles(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Dir) createFiles() error {
	held, err := d.names()
	if err != nil {
		return err
	}
	for _, name := range []string{RunFile, TrialsFile, StudyFile} {
		if slices.Contains(held, name) {
			return fmt.Errorf("%w: it contains the %s of another run", ErrExists, name)
		}
	}
	if len(held) > 0 {
		return fmt.Errorf("%w: it contains %s", ErrExists, held[0])
	}
	// Made at once: it shows that the directory can be written to before anything
	// is measured, and O_EXCL that no other run was faster.
	err = d.openTrials(os.O_CREATE | os.O_EXCL)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: it contains the %s of another run", ErrExists, TrialsFile)
	}
	if err != nil {
		return err
	}
	return d.sync(".")
}

// Open opens the directory of an existing run for reading it and for writing
// additional files, such as a report. Errors: ErrNotRun if it holds none.
func Open(path string) (*Dir, error) {
	d, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("open run directory %s: %w", path, err)
	}
	if err := d.isRun(); err != nil {
		return nil, errors.Join(fmt.Errorf("open run directory %s: %w", path, err), d.Close())
	}
	return d, nil
}

// OpenAppend opens the directory of an existing run to continue it. It first removes a
// last line that was cut when the run died. Errors: those of Open; those of Load about
// the trials, before anything is changed; ErrInUse.
func OpenAppend(path string) (*Dir, error) {
	d, err := Open(path)
	if err != nil {
		return nil, err
	}
	if err := d.reopenTrials(); err != nil {
		return nil, errors.Join(fmt.Errorf("reopen run directory %s: %w", path, err), d.Close())
	}
	return d, nil
}

func (d *Dir) reopenTrials() error {
	if err := d.openTrials(0); err != nil {
		return err
	}
	// Read only while the lock is held, so that no other process is writing a line.
	_, end, err := d.readTrials(parseTrial, d.memory)
	if err != nil {
		return err
	}
	if err := d.trials.Truncate(end.offset); err != nil {
		return err
	}
	d.size = end.offset
	if end.noNewline {
		d.size++
		if _, err := d.trials.Write([]byte{'\n'}); err != nil {
			return err
		}
	}
	return d.trials.Sync()
}

// openTrials locks the run and opens its trials for appending. Close unlocks it.
func (d *Dir) openTrials(flag int) error {
	if err := d.acquire(); err != nil {
		return err
	}
	f, err := d.openRegular(TrialsFile, os.O_WRONLY|os.O_APPEND|flag, 0o644)
	if err != nil {
		return err
	}
	if flag&os.O_CREATE != 0 {
		d.owner.giveFile(f)
	}
	d.trials = f
	return nil
}

func open(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return newDir(filepath.Clean(path), root), nil
}

func newDir(path string, root *os.Root) *Dir {
	d := &Dir{folder: folder{root: root, owner: ownerIn(root)}, memory: maxMemory}
	d.at.Store(&path)
	return d
}

// isRun checks for the files that only a run has; study.yaml can belong to anything. A
// lack of permission is an error other than ErrNotRun.
func (d *Dir) isRun() error {
	for _, name := range []string{TrialsFile, RunFile} {
		info, err := d.root.Stat(name)
		if err == nil && info.Mode().IsRegular() {
			return nil
		}
		if errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return ErrNotRun
}

// Close ends appending and closes the directory. It may be called twice.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	if d.trials != nil {
		err = d.trials.Close()
		d.trials = nil
	}
	return errors.Join(err, d.release(), d.root.Close())
}
