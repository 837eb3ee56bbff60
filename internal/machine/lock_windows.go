package machine

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock locks a file until unlock is called or this process ends. It fails if another process has
// it locked.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return lockFile(f)
}

// lockIn is like lock for a file in an open directory.
func lockIn(dir *os.Root, name string) (unlock func(), err error) {
	f, err := dir.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return lockFile(f)
}

func lockFile(f *os.File) (unlock func(), err error) {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	if err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{}); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// awaitUnlock returns a channel that is closed when no process has the file locked.
func awaitUnlock(path string) (<-chan struct{}, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer f.Close()
		_ = windows.LockFileEx(windows.Handle(f.Fd()), 0, 0, 1, 0, &windows.Overlapped{}) // it waits
		close(ended)
	}()
	return ended, nil
}
