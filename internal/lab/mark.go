//go:build unix

package lab

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

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

// Marked reports whether a directory has the mark of a run, written by the directory's owner. It follows no
// symbolic link and waits for nothing.
func Marked(dir, run string) bool {
	const how = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Open(dir, how|unix.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var of, st unix.Stat_t
	if unix.Fstat(fd, &of) != nil {
		return false
	}
	mark, err := unix.Openat(fd, markName, how, 0)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(mark), markName)
	defer f.Close()
	if unix.Fstat(mark, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != of.Uid {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxMark))
	return err == nil && string(text) == markText(run, of.Ino)
}
