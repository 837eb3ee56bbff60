package testns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Hierarchy is a mounted hierarchy of control groups.
type Hierarchy struct {
	At   string // where it is mounted
	Kind string // cgroup or cgroup2
	Data string // the controllers of a cgroup, separated by commas, as options of its mount
}

// Hierarchies lists those of this machine.
func Hierarchies() ([]Hierarchy, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var found []Hierarchy
	for line := range strings.Lines(string(text)) {
		mounted, super, ok := strings.Cut(strings.TrimSpace(line), " - ")
		at, options := strings.Fields(mounted), strings.Fields(super)
		if !ok || len(at) < 5 || len(options) < 3 || !strings.HasPrefix(options[0], "cgroup") {
			continue
		}
		h := Hierarchy{At: at[4], Kind: options[0]}
		if h.Kind == "cgroup" {
			h.Data = strings.TrimPrefix(options[2], "rw,")
			if strings.HasPrefix(h.Data, "name=") {
				h.Data = "none," + h.Data
			}
		}
		found = append(found, h)
	}
	return found, nil
}

// groupName is the name of the control groups of namespaces.
func groupName(base string) string { return "testns" + strings.ReplaceAll(base, "/", "-") }

// joinGroups moves this process into a new group of every hierarchy, and into a namespace in
// which these groups are the roots.
func joinGroups(name string) ([]Hierarchy, error) {
	all, err := Hierarchies()
	if err != nil {
		return nil, err
	}
	for _, h := range all {
		dir := filepath.Join(h.At, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
		// A new group of this controller has no CPUs and no memory at first.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if own, err := os.ReadFile(filepath.Join(h.At, file)); err == nil {
				if err := os.WriteFile(filepath.Join(dir, file), own, 0o644); err != nil {
					return nil, err
				}
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0o644); err != nil {
			return nil, err
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return nil, fmt.Errorf("make a namespace of control groups: %w", err)
	}
	return all, nil
}

// mount mounts the hierarchy below a new root directory, at the same place.
func (h Hierarchy) mount(root string) error {
	at := filepath.Join(root, h.At)
	if _, err := os.Stat(at); err != nil {
		// Version 1 has its mounts in a directory in memory.
		if parent := filepath.Dir(at); filepath.Base(parent) == "cgroup" {
			if _, err := os.Stat(filepath.Join(parent, ".made")); err != nil {
				if err := mount("tmpfs", parent, "tmpfs", 0, "mode=755"); err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(parent, ".made"), nil, 0o444); err != nil {
					return err
				}
			}
		}
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
	}
	return mount(h.Kind, at, h.Kind, 0, h.Data)
}

// removeGroups removes the control groups of namespaces, all of whose processes have ended.
func removeGroups(name string) error {
	all, err := Hierarchies()
	for _, h := range all {
		var dirs []string
		err = errors.Join(err, filepath.WalkDir(filepath.Join(h.At, name), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		}))
		for _, dir := range slices.Backward(dirs) {
			err = errors.Join(err, RemoveGroup(dir))
		}
	}
	return err
}

// RemoveGroup removes an empty control group. Its processes have ended, but the kernel may
// still be about to notice.
func RemoveGroup(dir string) (err error) {
	for range 1000 {
		if err = unix.Rmdir(dir); !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove the control group %s: %w", dir, err)
	}
	return nil
}
