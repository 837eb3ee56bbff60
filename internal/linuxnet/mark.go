//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// CreateMark creates a file that says whose something is: its whole content is the mark. Where the file system can,
// the file appears with its content, so that a process that is killed leaves none without. It is an error
// (os.ErrExist) if the path exists.
func CreateMark(path, mark string) error {
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o444)
	nameless := err == nil
	if !nameless { // such as on an overlay before Linux 6.1
		fd, err = unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o444)
	}
	if err != nil {
		return &os.PathError{Op: "create", Path: path, Err: err}
	}
	file := os.NewFile(uintptr(fd), path)
	_, err = file.WriteString(mark)
	if err == nil && nameless {
		err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
		if err != nil {
			err = &os.PathError{Op: "create", Path: path, Err: err}
		}
	}
	return errors.Join(err, file.Close())
}

// IsMark reports whether a path is root's regular file with the mark as its whole content. It follows no symbolic
// link and waits for nothing.
func IsMark(path, mark string) bool {
	file, err := openMark(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return isMark(file, mark)
}

// openMark opens what may be a mark, or a pipe, a link or a device in its place.
func openMark(path string) (*os.File, error) {
	return os.OpenFile(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

func isMark(file *os.File, mark string) bool {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 0 {
		return false
	}
	content, err := io.ReadAll(io.LimitReader(file, int64(len(mark))+1))
	return err == nil && string(content) == mark
}
