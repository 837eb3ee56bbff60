//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tare/internal/must"
	"tare/internal/testneed"
)

// A pipe as index does not block, and an index or a directory of another user is neither
// read nor written.
func TestIndexOfOthers(t *testing.T) {
	top, whole := manyRuns(t)
	want, _ := listWith(t, top, anyAge())
	name := filepath.Join(top, IndexFile)
	must.Do(t, os.Remove(name), syscall.Mkfifo(name, 0o600))
	got, from := listWith(t, top, anyAge())
	sameRecords(t, "a pipe", got, want)
	must.Equal(t, 0, from)
	if _, from := listWith(t, top, anyAge()); from != whole {
		t.Errorf("%d runs from the index that replaced a pipe", from)
	}
	if os.Geteuid() != 0 {
		must.Do(t, os.Remove(name), os.Chmod(top, 0o555))
		defer func() { must.Do(t, os.Chmod(top, 0o755)) }()
		got, _ = listWith(t, top, anyAge())
		sameRecords(t, "a directory that cannot be written", got, want)
		return
	}
	must.Do(t, os.Chown(name, 1234, 1234))
	if got, from = listWith(t, top, anyAge()); from != 0 {
		t.Errorf("%d runs from another user's index", from)
	}
	sameRecords(t, "another user's index", got, want)
	must.Do(t, os.Remove(name), os.Chown(top, 1234, 1234))
	got, _ = listWith(t, top, anyAge())
	sameRecords(t, "another user's directory", got, want)
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("root wrote into another user's directory: %v", err)
	}
	// Called by that user with sudo.
	asSudo(t)
	listWith(t, top, anyAge())
	if _, from := listWith(t, top, anyAge()); from != whole || uids(t, top)[IndexFile] != 1234 {
		t.Errorf("%d runs, %v", from, uids(t, top)[IndexFile])
	}
}

// Root does not remove another user's run, unless that user called sudo.
func TestRemoveOfOthers(t *testing.T) {
	top := t.TempDir()
	path := filepath.Join(top, "run")
	want := full(t, path)
	if os.Geteuid() != 0 {
		testneed.Missing(t, testneed.Root, "only root gives files away")
	}
	must.Do(t, os.Chown(path, 1234, 1234))
	if _, err := remover(t, top).Remove(path); !errors.Is(err, ErrForeign) {
		t.Error(err)
	}
	asSudo(t)
	if got := must.Get(remover(t, top).Remove(path))(t); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
