package machine

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/lab"
	"tare/internal/runid"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// deadCopy creates the directory of a copy whose guard died long ago.
func deadCopy(t *testing.T, parent, run string, marked bool) string {
	t.Helper()
	dir := filepath.Join(parent, runid.Prefix+run+"-x"+directorySuffix)
	must.Do(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700), os.WriteFile(filepath.Join(dir, "sub", "tare"), nil, 0o600))
	if marked {
		must.Do(t, lab.Mark(dir, run))
	}
	age(t, dir)
	return dir
}

func age(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-2 * copyTimeout())
	must.Do(t, os.Chtimes(dir, old, old))
}

// Only the user's own directories of dead runs that have a mark are removed. In others nothing is created.
func TestRemoveDead(t *testing.T) {
	parent := t.TempDir()
	own := filepath.Join(parent, runid.Prefix+"00000001-y"+directorySuffix)
	must.Do(t, os.Mkdir(own, 0o700))
	dead := deadCopy(t, parent, "00000002", true)
	kept := []string{deadCopy(t, parent, "00000003", false)}
	target := deadCopy(t, t.TempDir(), "00000004", true)
	must.Do(t, os.Symlink(target, filepath.Join(parent, filepath.Base(target))))
	kept = append(kept, target)
	if os.Geteuid() == 0 {
		others := deadCopy(t, parent, "00000005", true)
		for _, path := range []string{others, filepath.Join(others, ".tare-run")} {
			must.Do(t, os.Lchown(path, 65534, 65534))
		}
		age(t, others)
		kept = append(kept, others)
	}
	removeDead(own)
	if _, err := os.Lstat(dead); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of a dead run: %v", err)
	}
	for _, dir := range kept {
		must.Get(os.Stat(filepath.Join(dir, "sub", "tare")))(t)
		if _, err := os.Lstat(filepath.Join(dir, lockName)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a lock file in %s: %v", dir, err)
		}
	}
}

// The guard ends with its connection, however long it takes to remove what dead runs have left.
func TestGuardEndsBesideTidying(t *testing.T) {
	run := must.Get(runid.New())(t)
	run.Release()
	dir := filepath.Join(t.TempDir(), runid.Prefix+run.ID+"-y"+directorySuffix)
	must.Do(t, os.Mkdir(dir, 0o700))
	tidies := make(chan string)
	in, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- guard(in, func(dir string) { tidies <- dir; select {} }, run.ID, "marker", dir) }()
	must.Equal(t, dir, <-tidies)
	must.Do(t, out.Close())
	must.Equal(t, nil, <-ended)
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the guard's own directory: %v", err)
	}
}

// A symbolic link that takes the place of a directory while it is removed leads nowhere.
func TestRemoveDeadExchanged(t *testing.T) {
	testneed.NotShort(t)
	parent, victim := t.TempDir(), t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(victim, "kept"), nil, 0o600))
	link := filepath.Join(parent, "link")
	must.Do(t, os.Symlink(victim, link))
	const run = "00000006"
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
		dir := deadCopy(t, parent, run, true)
		var done sync.WaitGroup
		stop := make(chan struct{})
		done.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE) // until one is gone
				}
			}
		})
		for range 20 {
			removeDead(filepath.Join(parent, "own"))
		}
		close(stop)
		done.Wait()
		if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			must.Do(t, os.RemoveAll(link), os.Rename(dir, link))
		}
		if _, err := os.Lstat(link); err != nil {
			must.Do(t, os.Symlink(victim, link))
		}
		must.Do(t, os.RemoveAll(dir))
		if entries := must.Get(os.ReadDir(victim))(t); len(entries) != 1 {
			t.Fatalf("the link's target has %v", entries)
		}
	}
}
