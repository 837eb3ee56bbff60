package private

import (
	"errors"
	"fmt"
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
	if err := mountSysfs(); err != nil {
		return err
	}
	const plugins = "/run/docker/plugins"
	if err := os.MkdirAll(plugins, 0o755); err != nil {
		return err
	}
	if err := mount(filepath.Join(dir, "plugins"), plugins, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return overlayConfigDirs()
}

// mountSysfs mounts the view of /sys that belongs to this network namespace: bridges
// are found in /sys/class/net. What is mounted below it comes back as it was.
func mountSysfs() error {
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

// overlayConfigDirs keeps an engine's hands off two directories. /etc/docker has the settings
// of the user's engine, which are not to be seen, and up to 20.10 dockerd writes a
// key there; containerd makes a directory in /opt. A layer over each takes what is
// written, also where the directory does not exist. Where layers cannot be, an
// empty directory over the settings has to do.
func overlayConfigDirs() error {
	const settings = "/etc/docker"
	upper := upperOf("/etc")
	hidden := filepath.Join(upper, filepath.Base(settings))
	if err := os.MkdirAll(hidden, 0o755); err != nil {
		return err
	}
	// As an opaque directory of the upper layer it hides the one below.
	opaque := unix.Setxattr(hidden, "trusted.overlay.opaque", []byte("y"), 0)
	if opaque != nil || layer("/etc") != nil {
		if _, err := os.Stat(settings); err == nil {
			if err := mount("tmpfs", settings, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
				return err
			}
		}
	}
	// Without it there may be an empty directory more on the machine.
	_ = layer("/opt")
	return nil
}

func upperOf(dir string) string { return filepath.Join("/run/layers", dir, "upper") }

// layer puts a layer over a directory that takes what is written.
func layer(dir string) error {
	upper := upperOf(dir)
	work := filepath.Join(filepath.Dir(upper), "work")
	if err := errors.Join(os.MkdirAll(upper, 0o755), os.MkdirAll(work, 0o755)); err != nil {
		return err
	}
	return mount("overlay", dir, "overlay", 0, "lowerdir="+dir+",upperdir="+upper+",workdir="+work)
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
