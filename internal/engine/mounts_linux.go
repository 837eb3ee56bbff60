package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// makeMounts gives this process, which is alone in its mount namespace, the file
// system of an engine: the machine's own, but for what would join it to another
// engine or to another network.
func makeMounts(dir string) error {
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	// Over /run, where the user's engine, containerd and plugins have their sockets;
	// and all that this engine keeps is on it.
	if err := mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return err
	}
	// dockerd raises a limit there, which is the machine's own. It does without.
	const limits = "/proc/sys/kernel/keys"
	if _, err := os.Stat(limits); err == nil {
		if err := readOnly(limits); err != nil {
			return err
		}
	}
	if err := ownSys(); err != nil {
		return err
	}
	const plugins = "/run/docker/plugins"
	if err := os.MkdirAll(plugins, 0o755); err != nil {
		return err
	}
	if err := mount(filepath.Join(dir, "plugins"), plugins, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return hideSettings()
}

// ownSys mounts the view of /sys that belongs to this network namespace: bridges
// are found in /sys/class/net. What is mounted below it comes back as it was.
func ownSys() error {
	mounts, err := mounted()
	if err != nil {
		return err
	}
	const shelf = "/run/sys"
	var kept []string
	for _, at := range []string{"/sys/fs/cgroup", "/sys/kernel/security", "/sys/fs/bpf"} {
		if _, ok := mounts[at]; !ok {
			continue
		}
		to := filepath.Join(shelf, strconv.Itoa(len(kept)))
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
		if err := mount(at, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
		kept = append(kept, at)
	}
	if err := mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	for i, at := range kept {
		if err := mount(filepath.Join(shelf, strconv.Itoa(i)), at, "", unix.MS_MOVE, ""); err != nil {
			return err
		}
	}
	return os.RemoveAll(shelf)
}

// hideSettings takes the settings of the user's engine out of sight, and keeps
// dockerd from writing to them: up to 20.10 it puts a key there. A layer over /etc
// does so also where the directory does not exist; where layers cannot be, an
// empty directory over it has to do.
func hideSettings() error {
	const upper, work, settings = "/run/etc/upper", "/run/etc/work", "/etc/docker"
	if err := errors.Join(os.MkdirAll(filepath.Join(upper, "docker"), 0o755), os.MkdirAll(work, 0o755)); err != nil {
		return err
	}
	opaque := unix.Setxattr(filepath.Join(upper, "docker"), "trusted.overlay.opaque", []byte("y"), 0)
	if opaque == nil && mount("overlay", "/etc", "overlay", 0, "lowerdir=/etc,upperdir="+upper+",workdir="+work) == nil {
		return nil
	}
	if _, err := os.Stat(settings); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return mount("tmpfs", settings, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755")
}

func mount(what, at, kind string, flags uintptr, data string) error {
	if err := unix.Mount(what, at, kind, flags, data); err != nil {
		return fmt.Errorf("mount %s on %s: %w", strings.TrimSpace(kind+" "+what), at, err)
	}
	return nil
}

// readOnly keeps a directory from being written to.
func readOnly(dir string) error {
	if err := mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// mounted lists where something is mounted, with the kind of file system on top.
func mounted() (map[string]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(data)) {
		// proc(5): the mount point is the fifth field, the kind the first behind " - ".
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if ok && len(fields) > 4 && len(kind) > 0 {
			all[fields[4]] = kind[0]
		}
	}
	return all, nil
}
