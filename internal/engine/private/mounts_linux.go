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

// makeMounts sets up the file system of an engine in this process's mount namespace: the machine's
// own, except for what would connect it to another engine or network.
func makeMounts(dir string) error {
	if err := Isolate(); err != nil {
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

// Isolate gives this process's mount namespace, which must be its own, a /proc of its PID
// namespace, a /sys of its network namespace and an empty /run. Everything else stays the
// machine's.
func Isolate() error {
	if err := IsolateMounts(); err != nil {
		return err
	}
	// dockerd raises a limit of the whole machine there. It works without that.
	const limits = "/proc/sys/kernel/keys"
	if _, err := os.Stat(limits); err != nil {
		return nil //nolint:nilerr // the kernel has no such limit
	}
	return readOnly(limits)
}

// IsolateMounts is Isolate without a protection that would keep an ordinary user, or a container in a user namespace, from mounting a /proc.
func IsolateMounts() error {
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	// Over /run, where the user's engine, containerd and plugins have their sockets. It also holds
	// all data of this engine.
	if err := mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return err
	}
	return mountSysfs()
}

// mountSysfs mounts a /sys for this network namespace, because bridges are looked up in
// /sys/class/net. What was mounted below it is mounted again.
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

// overlayConfigDirs protects two directories. /etc/docker has the settings of the user's engine,
// which must not be read, and dockerd up to 20.10 writes a key there; containerd creates a
// directory in /opt. An overlay on each takes what is written, even if the directory does not
// exist. If overlays are not possible, an empty directory is mounted over the settings.
func overlayConfigDirs() error {
	const settings = "/etc/docker"
	upper := upperOf("/etc")
	hidden := filepath.Join(upper, filepath.Base(settings))
	if err := os.MkdirAll(hidden, 0o755); err != nil {
		return err
	}
	// An opaque directory in the upper layer hides the lower one.
	opaque := unix.Setxattr(hidden, "trusted.overlay.opaque", []byte("y"), 0)
	if opaque != nil || Layer("/etc") != nil {
		if _, err := os.Stat(settings); err == nil {
			if err := mount("tmpfs", settings, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
				return err
			}
		}
	}
	// Without it, an empty directory may be left on the machine.
	_ = Layer("/opt")
	return nil
}

func upperOf(dir string) string { return filepath.Join("/run/layers", dir, "upper") }

// Layer mounts an overlay on a directory that takes what is written, in the /run of Isolate.
func Layer(dir string) error {
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

// readOnly makes a directory read-only.
func readOnly(dir string) error {
	if err := mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// mounted returns the mount points, with the type of the topmost file system.
func mounted() (map[string]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(data)) {
		// proc(5): the mount point is the fifth field, the type the first after " - ".
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if ok && len(fields) > 4 && len(kind) > 0 {
			all[fields[4]] = kind[0]
		}
	}
	return all, nil
}
