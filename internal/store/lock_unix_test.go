//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tare/internal/testkit/must"
)

// Who can only read a run cannot prevent that it goes on: what is locked can be opened by
// its user alone.
func TestForeignLockDoesNotBlock(t *testing.T) {
	d := created(t)
	name := filepath.Join(d.Path(), lockFile)
	info := must.Get(os.Lstat(name))(t)
	must.True(t, info.Mode() == 0o600, "the lock file has mode %v", info.Mode())
	must.True(t, IsLocked(d.Path()), "not locked while it is written")
	must.Do(t, d.Append(sample(1)), d.Close())
	must.True(t, !IsLocked(d.Path()), "locked after it ended")
	_, err := os.Lstat(name)
	must.True(t, errors.Is(err, fs.ErrNotExist), "the lock file is left behind: %v", err)
	for _, readable := range []string{TrialsFile, "."} {
		f := must.Get(os.Open(filepath.Join(d.Path(), readable)))(t)
		defer f.Close()
		must.Do(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	}
	d = must.Get(OpenAppend(d.Path()))(t)
	must.Do(t, d.Append(sample(2)), d.Close())
}

// The lock of a process that was killed ends with it; its file does not matter.
func TestStaleLockFile(t *testing.T) {
	d := created(t)
	must.Do(t, d.Close(), os.WriteFile(filepath.Join(d.Path(), lockFile), nil, 0o600))
	must.Do(t, must.Get(OpenAppend(d.Path()))(t).Close())
	// A pipe in its place is refused, and nothing waits for it.
	must.Do(t, syscall.Mkfifo(filepath.Join(d.Path(), lockFile), 0o600))
	_, err := OpenAppend(d.Path())
	must.True(t, errors.Is(err, errIrregular), "a pipe: %v", err)
}

// Two processes that find the file of a third one never both hold the lock: one whose
// file was removed meanwhile locks nothing.
func TestRemovedLockFile(t *testing.T) {
	d := created(t)
	must.Do(t, d.release())
	f := must.Get(d.openLock())(t)
	defer f.Close()
	must.Do(t, os.Remove(f.Name()))
	current, err := d.hold(f)
	must.True(t, !current && err == nil, "a removed file: %t, %v", current, err)
	must.Do(t, d.acquire())
	if current, err := d.hold(must.Get(d.openLock())(t)); !errors.Is(err, ErrInUse) {
		t.Errorf("a held file: %t, %v", current, err)
	}
}
