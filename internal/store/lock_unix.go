//go:build unix

package store

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockTries and lockPause are how often, and after which pause, a locked file is tried
// again: IsLocked of another process holds the lock for microseconds, or as long as it then gets no CPU.
const (
	lockTries = 25
	lockPause = 20 * time.Millisecond
)

// lock locks the file for this process until it is closed or the process dies. Without it
// two resumed runs in one directory would corrupt each other's lines. A file system
// without locks is used without one.
func lock(f *os.File) error {
	for tried := 0; ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			if tried++; tried == lockTries {
				return ErrInUse
			}
			time.Sleep(lockPause)
		default:
			return nil
		}
	}
}

// IsLocked reports whether a process is writing trials in a run's directory. If that is
// unknown, it returns false: only the user of a run can read its lock.
func IsLocked(dir string) bool {
	// Opened once and then checked: what has the name can change, and opening a pipe would block.
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
