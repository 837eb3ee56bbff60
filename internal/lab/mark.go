//go:build unix

package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// markName is the file in a directory of a run by which tare gc knows it. A name alone may be that of anybody's
// directory: eight digits of a date look like a run's id.
const markName = ".tare-run"

// maxMark is longer than any mark.
const maxMark = 100

// markText is the content of the mark of a directory: a copy of the directory has another inode.
func markText(run string, inode uint64) string { return fmt.Sprintf("tare %s %d\n", run, inode) }

// Mark marks a directory as one that a run has made, so that tare gc removes it when the run is dead.
func Mark(dir, run string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return fmt.Errorf("mark %s: %w", dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, markName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("mark %s: %w", dir, err)
	}
	_, err = f.WriteString(markText(run, st.Ino))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("mark %s: %w", dir, err)
	}
	return nil
}

// ErrUnmarked means that something has only the name of a run, and no mark of one.
var ErrUnmarked = errors.New("has no mark of a run")

// OpenMarked opens a directory in parent that has the mark of a run, written by the directory's owner, and
// returns it with the number of that user. It follows no symbolic link and waits for nothing. Errors:
// ErrUnmarked; the directory cannot be read.
func OpenMarked(parent *os.Root, name, run string) (dir *os.Root, owner int, err error) {
	named, err := parent.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	if !named.IsDir() {
		return nil, 0, ErrUnmarked
	}
	if dir, err = parent.OpenRoot(name); err != nil {
		return nil, 0, err
	}
	of, err := dir.Stat(".")
	if err == nil && (!os.SameFile(named, of) || !marked(dir, of, run)) {
		err = ErrUnmarked
	}
	if err != nil {
		return nil, 0, errors.Join(err, dir.Close())
	}
	return dir, int(status(of).Uid), nil
}

// RemoveOpened removes a directory that OpenMarked has opened, with all that is in it, its mark last.
func RemoveOpened(parent, dir *os.Root, name string) error {
	all, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer all.Close()
	names, err := all.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, n := range names {
		if n == markName {
			continue
		}
		if err := dir.RemoveAll(n); err != nil {
			return err
		}
	}
	if err := dir.Remove(markName); err != nil {
		return err
	}
	return parent.Remove(name) // which fails if it is another one with anything in it
}

// marked reports whether an open directory has the mark of a run.
func marked(dir *os.Root, of os.FileInfo, run string) bool {
	f, err := dir.OpenFile(markName, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || status(info).Uid != status(of).Uid {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxMark))
	return err == nil && string(text) == markText(run, uint64(status(of).Ino)) //nolint:unconvert // its type depends on the system
}

func status(info os.FileInfo) *syscall.Stat_t {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok { // no Unix has another type
		panic(fmt.Sprintf("file information of type %T", info.Sys()))
	}
	return st
}
