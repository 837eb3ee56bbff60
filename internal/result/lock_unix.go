//go:build unix

package result

import (
	"errors"
	"os"
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
