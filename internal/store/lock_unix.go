//go:build unix

package store

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// lock takes the file for this process until it is closed or the process dies.
// Two resumed runs in one directory would cut each other's lines. A file system
// that cannot lock is used without.
func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrInUse
		default:
			return nil
		}
	}
}

// IsLocked is whether a process is writing trials in a run's directory now. Where that
// cannot be told, it is false.
func IsLocked(dir string) bool {
	name := filepath.Join(dir, TrialsFile)
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return false // to open a pipe is to wait
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
