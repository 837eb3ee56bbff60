//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// PinDir is where named namespaces are mounted, so that `ip netns` lists them.
const PinDir = "/run/netns"

// loopback is the link whose alias is the mark of a namespace.
const loopback = "lo"

// NewPinnedNS is NewNS with the name under PinDir, which requires real root. The name stays when the process is
// killed; what it stands for, and the file below it, bear the mark from the first moment, see HasMark.
func NewPinnedNS(name, mark string) (*NS, error) {
	ns, err := NewNS(name)
	if err != nil {
		return nil, err
	}
	err = ns.Links().alias(Device{Name: loopback, Alias: mark})
	if err == nil {
		err = ns.pin(mark)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("name network namespace %s: %w", name, err), ns.Close())
	}
	return ns, nil
}

func (ns *NS) pin(mark string) error {
	if err := sharePinDir(); err != nil {
		return err
	}
	path := filepath.Join(PinDir, ns.name)
	if err := CreateMark(path, mark); err != nil {
		return err
	}
	err := ns.Do(func() error { return unix.Mount("/proc/thread-self/ns/net", path, "none", unix.MS_BIND, "") })
	if err != nil {
		_ = os.Remove(path) // report the mount error
		return fmt.Errorf("mount on %s: %w", path, err)
	}
	ns.pinned = true
	return nil
}

// sharePinDir makes PinDir a shared mount, as ip-netns(8) does before it makes its first name.
// Otherwise the first `ip netns add` would mount PinDir over itself, with a second mount of every
// name below it: removing a name here would then fail, because the other mount is in use.
func sharePinDir() error {
	if err := os.MkdirAll(PinDir, 0o755); err != nil {
		return err
	}
	dir, err := os.Open(PinDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	// ip(8) takes the same lock, so that not both mount it.
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", PinDir, err)
	}
	share := func() error { return unix.Mount("", PinDir, "none", unix.MS_SHARED|unix.MS_REC, "") }
	err = share()
	if errors.Is(err, unix.EINVAL) { // not a mount yet
		if err = unix.Mount(PinDir, PinDir, "none", unix.MS_BIND|unix.MS_REC, ""); err == nil {
			err = share()
		}
	}
	if err != nil {
		return fmt.Errorf("make %s a shared mount: %w", PinDir, err)
	}
	return nil
}

// HasMark reports whether a name under PinDir was made by NewPinnedNS with a mark: the namespace has it as the alias
// of its loopback, or, before the namespace is mounted and after it no longer is, the file is the mark.
func HasMark(name, mark string) bool {
	file, err := openMark(filepath.Join(PinDir, name))
	if err != nil {
		return false
	}
	defer file.Close()
	var fs unix.Statfs_t
	if unix.Fstatfs(int(file.Fd()), &fs) != nil {
		return false
	}
	if fs.Type != unix.NSFS_MAGIC {
		return isMark(file, mark)
	}
	ns, err := OpenNS(name, fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
	if err != nil {
		return false
	}
	defer ns.Close()
	link, err := ns.Links().link(loopback)
	return err == nil && link.Attrs().Alias == mark
}

// Unpin removes a namespace's name under PinDir.
func Unpin(name string) error {
	path := filepath.Join(PinDir, name)
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount namespace %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove namespace name: %w", err)
	}
	return nil
}

// Pinned lists the names under PinDir that begin with prefix.
func Pinned(prefix string) ([]string, error) {
	entries, err := os.ReadDir(PinDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
