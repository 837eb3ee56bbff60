package store

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// A pipe that takes the place of a lock file while it is looked at does not make IsLocked wait.
func TestIsLockedExchanged(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, lockFile), filepath.Join(dir, "pipe")
	must.Do(t, os.WriteFile(file, nil, 0o600), syscall.Mkfifo(pipe, 0o600))
	stop := time.Now().Add(time.Second)
	go func() {
		for time.Now().Before(stop) {
			_ = unix.Renameat2(unix.AT_FDCWD, file, unix.AT_FDCWD, pipe, unix.RENAME_EXCHANGE) // both stay
		}
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for time.Now().Before(stop) {
			if IsLocked(dir) {
				t.Error("locked by nobody")
				return
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(timelimit.Scaled(10 * time.Second)):
		t.Fatal("IsLocked waits for a pipe")
	}
}
