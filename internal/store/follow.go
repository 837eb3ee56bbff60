package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// ErrGone means that the directory of a run, or its trials, were removed while they were written.
var ErrGone = errors.New("removed")

// follow checks that what is written will be found: that the directory still has its path, or another one, which is
// its path from now on. Errors: ErrGone.
func (d *folder) follow() error {
	self, err := d.root.Stat(".")
	if err != nil {
		return err
	}
	if named, err := os.Stat(d.Path()); err != nil || !os.SameFile(self, named) {
		path, err := d.whereabouts(self)
		if err != nil {
			return err
		}
		d.at.Store(&path)
	}
	return nil
}

// followTrials is follow, and also checks that the trials are still in the directory.
func (d *Dir) followTrials() error {
	if err := d.follow(); err != nil {
		return err
	}
	written, err := d.trials.Stat()
	if err != nil {
		return err
	}
	named, err := d.root.Lstat(TrialsFile)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(written, named) {
		return fmt.Errorf("%w or replaced while the run was under way: its trials would be lost", ErrGone)
	}
	return err
}

// followOpen is follow while the trials are open for appending: the directory may be moved or removed after the last one.
func (d *Dir) followOpen() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.trials == nil {
		return nil
	}
	return d.follow()
}

// whereabouts is the path of a directory that no longer has the one that it was opened by. Only Linux tells.
func (d *folder) whereabouts(self fs.FileInfo) (string, error) {
	gone := fmt.Errorf("its directory was %w or moved while the run was under way: its trials would be lost", ErrGone)
	if runtime.GOOS != "linux" {
		return "", gone
	}
	f, err := d.root.Open(".")
	if err != nil {
		return "", err
	}
	defer f.Close()
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return "", err
	}
	if named, err := os.Stat(path); err != nil || !os.SameFile(self, named) {
		return "", gone
	}
	return path, nil
}
