//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Who can only read a run cannot prevent that it goes on: what is locked can be opened by
// its user alone.
func TestForeignLockDoesNotBlock(t *testing.T) {
	d := created(t)
	name := filepath.Join(d.Path(), lockFile)
	if info := must[os.FileInfo](t)(os.Lstat(name)); info.Mode() != 0o600 {
		t.Errorf("the lock file has mode %v", info.Mode())
	}
	if !IsLocked(d.Path()) {
		t.Error("not locked while it is written")
	}
	ok(t, d.Append(sample(1)), d.Close())
	if IsLocked(d.Path()) {
		t.Error("locked after it ended")
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock file is left behind: %v", err)
	}
	for _, readable := range []string{TrialsFile, "."} {
		f := must[*os.File](t)(os.Open(filepath.Join(d.Path(), readable)))
		defer f.Close()
		ok(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	}
	d = must[*Dir](t)(OpenAppend(d.Path()))
	ok(t, d.Append(sample(2)), d.Close())
}

// The lock of a process that was killed ends with it; its file does not matter.
func TestStaleLockFile(t *testing.T) {
	d := created(t)
	ok(t, d.Close(), os.WriteFile(filepath.Join(d.Path(), lockFile), nil, 0o600))
	ok(t, must[*Dir](t)(OpenAppend(d.Path())).Close())
	// A pipe in its place is refused, and nothing waits for it.
	ok(t, syscall.Mkfifo(filepath.Join(d.Path(), lockFile), 0o600))
	if _, err := OpenAppend(d.Path()); !errors.Is(err, errIrregular) {
		t.Errorf("a pipe: %v", err)
	}
}

// Two processes that find the file of a third one never both hold the lock: one whose
// file was removed meanwhile locks nothing.
func TestRemovedLockFile(t *testing.T) {
	d := created(t)
	ok(t, d.release())
	f := must[*os.File](t)(d.openLock())
	defer f.Close()
	ok(t, os.Remove(f.Name()))
	if current, err := d.hold(f); current || err != nil {
		t.Errorf("a removed file: %t, %v", current, err)
	}
	ok(t, d.acquire())
	if current, err := d.hold(must[*os.File](t)(d.openLock())); !errors.Is(err, ErrInUse) {
		t.Errorf("a held file: %t, %v", current, err)
	}
}
