package kubetest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// passedFile records which controllers tests let the machine's root control groups pass on. It ends with the last cluster.
const passedFile = "/run/tare-test-controllers"

// The files of a control group of version 2.
const (
	availableControllers = "cgroup.controllers"
	passedControllers    = "cgroup.subtree_control"
)

// passed is the use of controllers that a root control group passes on. All clusters of the machine, of any process, share them: each holds a
// shared lock on the record, and whoever ends when nobody else does restores what the record has, also of clusters that were killed.
type passed struct{ record *os.File }

// passControllers has root control groups of version 2 pass all their controllers on, which a kubelet needs, until restore.
func passControllers(record string, roots []string) (*passed, error) {
	p, err := openPassed(record)
	if err != nil {
		return nil, err
	}
	for _, root := range roots {
		available, err := os.ReadFile(filepath.Join(root, availableControllers))
		if err != nil {
			continue // version 1
		}
		file := filepath.Join(root, passedControllers)
		has, err := os.ReadFile(file)
		if err != nil {
			return nil, errors.Join(err, p.restore())
		}
		for one := range strings.FieldsSeq(string(available)) {
			if slices.Contains(strings.Fields(string(has)), one) {
				continue
			}
			// Before it is done: this process may be killed.
			if _, err := fmt.Fprintln(p.record, file, one); err != nil {
				return nil, errors.Join(err, p.restore())
			}
			_ = os.WriteFile(file, []byte("+"+one), 0) // the kubelet reports what is missing
		}
	}
	return p, nil
}

// openPassed opens the record and locks it.
func openPassed(path string) (*passed, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		opened, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		if is, err := os.Stat(path); err == nil && os.SameFile(is, opened) {
			return &passed{f}, nil
		}
		f.Close() // the last cluster has ended, and removed it
	}
}

// restore has the control groups pass on what they did before, unless other clusters use them. It may be called of nil.
func (p *passed) restore() error {
	if p == nil {
		return nil
	}
	defer p.record.Close()
	fd := int(p.record.Fd())
	if err := unix.Flock(fd, unix.LOCK_UN); err != nil {
		return err
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return nil // theirs to restore
	} else if err != nil {
		return err
	}
	// Another one may have removed the file since: then a new cluster has a record of its own.
	opened, err := p.record.Stat()
	if err != nil {
		return err
	}
	if is, err := os.Stat(p.record.Name()); err != nil || !os.SameFile(is, opened) {
		return nil //nolint:nilerr // it is removed
	}
	text, err := io.ReadAll(io.NewSectionReader(p.record, 0, opened.Size()))
	if err != nil {
		return err
	}
	busy := false
	for line := range strings.Lines(string(text)) {
		file, one, complete := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !complete {
			continue // its writer was killed
		}
		has, err := os.ReadFile(file)
		if err == nil && slices.Contains(strings.Fields(string(has)), one) {
			err = os.WriteFile(file, []byte("-"+one), 0)
		}
		if errors.Is(err, unix.EBUSY) { // another program's group below passes it on, such as a container engine's: the next cluster tries again
			busy = true
			continue
		}
		if err != nil {
			return fmt.Errorf("restore the controllers of control groups, which %s lists: %w", p.record.Name(), err)
		}
	}
	if busy {
		return nil
	}
	return os.Remove(p.record.Name())
}
