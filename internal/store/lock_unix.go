//go:build unix

package store

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// lock locks the file for this process until it is closed or the process dies. Without it
// two resumed runs in one directory would corrupt each other's lines. A file system
// without locks is used without one.
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

// IsLocked reports whether a process is writing trials in a run's directory. If that is
// unknown, it returns false.
func IsLocked(dir string) bool {
	name := filepath.Join(dir, TrialsFile)
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return false // opening a pipe would block
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
