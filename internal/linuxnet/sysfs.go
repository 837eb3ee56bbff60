//go:build linux

package linuxnet

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// sysfs calls fn on a thread inside the namespace with a new sysfs, which shows the devices
// of the namespace and is attached to no path, so that nothing remains of it. It needs
// Linux 5.2.
func (ns *Tuning) sysfs(fn func(root int) error) error {
	return ns.whole().Do(func() error {
		context, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
		if err != nil {
			return fmt.Errorf("open sysfs for namespace %s: %w", ns.name, err)
		}
		defer unix.Close(context)
		if err := unix.FsconfigCreate(context); err != nil {
			return fmt.Errorf("create sysfs for namespace %s: %w", ns.name, err)
		}
		root, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("mount sysfs for namespace %s: %w", ns.name, err)
		}
		defer unix.Close(root)
		return fn(root)
	})
}

// SetDeviceAttribute writes an attribute of a link, such as "threaded" or
// "queues/rx-0/rps_cpus" (Documentation/ABI/testing/sysfs-class-net).
func (ns *Tuning) SetDeviceAttribute(device, attribute, value string) error {
	return ns.sysfs(func(root int) error {
		f, err := openAttribute(root, device, attribute, unix.O_WRONLY)
		if err == nil {
			_, err = f.WriteString(value)
			f.Close()
		}
		if err != nil {
			return fmt.Errorf("set %s of %s to %s in namespace %s: %w", attribute, device, value, ns.name, err)
		}
		return nil
	})
}

// DeviceAttributes reads attributes of a link by name. Those that the link lacks are omitted.
func (ns *Tuning) DeviceAttributes(device string, attributes []string) (map[string]string, error) {
	out := map[string]string{}
	err := ns.sysfs(func(root int) error {
		for _, name := range attributes {
			f, err := openAttribute(root, device, name, unix.O_RDONLY)
			if os.IsNotExist(err) {
				continue
			}
			var text []byte
			if err == nil {
				text, err = io.ReadAll(f)
				f.Close()
			}
			if err != nil {
				return fmt.Errorf("read %s of %s in namespace %s: %w", name, device, ns.name, err)
			}
			out[name] = strings.TrimSpace(string(text))
		}
		return nil
	})
	return out, err
}

func openAttribute(root int, device, attribute string, flags int) (*os.File, error) {
	path := filepath.Join("class/net", device, attribute)
	fd, err := unix.Openat(root, path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
