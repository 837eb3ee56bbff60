package cni

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/driver/daemon"
)

// cacheDir is where libcni keeps the results that a DEL needs.
const cacheDir = StateDir + "/results-of-tare"

// namespaces is where the namespaces of the sandboxes are mounted.
const namespaces = "/run/netns"

// ifName is the device that plugins create in a sandbox.
const ifName = "eth0"

// mounts are those of a host's mount namespace.
type mounts struct {
	proc int // a descriptor of /proc as the caller of the plugins sees it
}

// mountPrivate makes a mount namespace the host's: /proc of its PID namespace, /sys of its
// network namespace, an empty /run with files, and empty directories for state. Directories of
// plugins below these stay visible.
func mountPrivate(state, plugins []string, files map[string]string) (mounts, error) {
	m := mounts{}
	var err error
	if m.proc, err = unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return m, fmt.Errorf("open /proc: %w", err)
	}
	kept, err := openDirs(append(plugins, "/sys/fs/cgroup", "/sys/fs/bpf"))
	defer closeAll(kept)
	if err != nil {
		return m, err
	}
	if err := daemon.PrivateRun(); err != nil {
		return m, err
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return m, fmt.Errorf("mount /proc of the plugins' processes: %w", err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return m, fmt.Errorf("mount /sys of the host: %w", err)
	}
	covered := []string{"/run", "/var/run", "/sys", StateDir}
	if err := cover(StateDir); err != nil {
		return m, err
	}
	for _, dir := range state {
		if below(dir, covered...) {
			continue
		}
		if err := cover(dir); err != nil {
			return m, err
		}
		covered = append(covered, dir)
	}
	for dir, f := range kept {
		if !below(dir, covered...) {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // in a file system of this process
			return m, err
		}
		if err := unix.Mount(descriptor(int(f.Fd())), dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return m, fmt.Errorf("keep %s visible: %w", dir, err)
		}
	}
	if err := os.MkdirAll(namespaces, 0o755); err != nil { //nolint:gosec // as ip-netns(8) does
		return m, err
	}
	for file, text := range files {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // in a private file system
			return m, err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return m, err
		}
	}
	return m, nil
}

// namespace mounts a network namespace under a name and returns its path.
func (m mounts) namespace(name, path string) (string, error) {
	inside, ok := strings.CutPrefix(path, "/proc/")
	if !ok {
		return "", fmt.Errorf("network namespace %s is not below /proc", path)
	}
	fd, err := unix.Openat(m.proc, inside, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("open network namespace %s: %w", path, err)
	}
	defer unix.Close(fd)
	at := filepath.Join(namespaces, name)
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		return "", err
	}
	if err := unix.Mount(descriptor(fd), at, "", unix.MS_BIND, ""); err != nil {
		return "", fmt.Errorf("mount network namespace on %s: %w", at, err)
	}
	return at, nil
}

func descriptor(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// openDirs opens those directories that exist, by path.
func openDirs(dirs []string) (map[string]*os.File, error) {
	all := map[string]*os.File{}
	for _, dir := range dirs {
		f, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) || all[dir] != nil {
			continue
		}
		if err != nil {
			return all, err
		}
		all[dir] = f
	}
	return all, nil
}

func closeAll(files map[string]*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// cover mounts an empty file system on a directory. A directory that does not exist must not be
// created on the machine: then its nearest existing parent is replaced by an
// equal one, in which it is created.
func cover(dir string) error {
	if !filepath.IsAbs(dir) || dir == "/" {
		return fmt.Errorf("%q cannot be a directory of state of plugins; name an absolute path", dir)
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := replaceParent(dir); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755"); err != nil {
		return fmt.Errorf("mount a private %s: %w", dir, err)
	}
	return nil
}

// replaceParent mounts an empty file system on the nearest existing parent of a directory,
// binds what the parent has into it, and creates the directory.
func replaceParent(dir string) error {
	parent := filepath.Dir(dir)
	for {
		if _, err := os.Stat(parent); err == nil {
			break
		}
		parent = filepath.Dir(parent)
	}
	if parent == "/" {
		return fmt.Errorf("the directory of state %s has no existing parent but /; create one, or keep state below %s", dir, StateDir)
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	old, err := unix.Open(parent, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", parent, err)
	}
	defer unix.Close(old)
	if err := unix.Mount("tmpfs", parent, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mount a private %s: %w", parent, err)
	}
	for _, e := range entries {
		if err := bindEntry(old, e, filepath.Join(parent, e.Name())); err != nil {
			return fmt.Errorf("keep %s in %s: %w", e.Name(), parent, err)
		}
	}
	return os.MkdirAll(dir, 0o755) //nolint:gosec // in a private file system
}

// bindEntry makes an entry of a directory visible at a path.
func bindEntry(dir int, e os.DirEntry, at string) error {
	from := descriptor(dir) + "/" + e.Name()
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		to, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(to, at)
	case e.IsDir():
		if err := os.Mkdir(at, 0o755); err != nil { //nolint:gosec // what is bound there has a mode of its own
			return err
		}
	case e.Type().IsRegular():
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			return err
		}
	default:
		return nil // a socket or a device: plugins find none of another program's in there
	}
	return unix.Mount(from, at, "", unix.MS_BIND|unix.MS_REC, "")
}
