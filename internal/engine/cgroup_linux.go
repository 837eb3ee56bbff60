package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// hierarchies lists where control groups are mounted, of either version.
func hierarchies() ([]string, error) {
	mounts, err := mounted()
	if err != nil {
		return nil, err
	}
	var at []string
	for dir, kind := range mounts {
		if strings.HasPrefix(kind, "cgroup") {
			at = append(at, dir)
		}
	}
	slices.Sort(at)
	return at, nil
}

// removeCgroups removes the control group of that name from the root of each
// hierarchy, with those below it. Its processes must have been killed.
func removeCgroups(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	var errs []error
	for _, h := range all {
		errs = append(errs, removeCgroup(filepath.Join(h, name)))
	}
	return errors.Join(errs...)
}

// removeCgroup removes a control group and those below it. The kernel keeps a group
// for a moment after its last process has ended.
func removeCgroup(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir():
			dirs = append(dirs, path)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look into control group %s: %w", dir, err)
	}
	deadline := time.Now().Add(endWithin)
	for _, d := range slices.Backward(dirs) {
		for {
			// Not os.Remove: it would first try to unlink, which is another error.
			err := unix.Rmdir(d)
			if err == nil || errors.Is(err, unix.ENOENT) {
				break
			}
			if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
				return fmt.Errorf("remove control group %s: %w", d, err)
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}
