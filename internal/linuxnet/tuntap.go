//go:build linux

package linuxnet

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// tunDevice is where a process gets a tun or tap device from.
const tunDevice = "/dev/net/tun"

// NeedTUN says what is lacking where a process cannot have a tun or tap device.
func NeedTUN() error {
	f, err := os.OpenFile(tunDevice, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("a process needs %s for its device (CONFIG_TUN; in a container: --device %s): %w", tunDevice, tunDevice, err)
	}
	return f.Close()
}

// TapDevice makes a tap device whose frames the file carries, each behind a virtio-net
// header that tells of offloads. It is gone when the file is closed, by whoever has it
// last.
func (ns *NS) TapDevice(d Device) (*os.File, error) {
	var file *os.File
	err := ns.Do(func() error {
		fd, err := unix.Open(tunDevice, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", tunDevice, err)
		}
		req, err := unix.NewIfreq(d.Name)
		if err == nil {
			req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
		}
		if err != nil {
			unix.Close(fd)
			return err
		}
		file = os.NewFile(uintptr(fd), d.Name)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("make tap %s in namespace %s: %w", d.Name, ns.name, err)
	}
	if err = ns.mtu(d); err == nil {
		err = ns.alias(d)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func (ns *NS) mtu(d Device) error {
	if d.MTU == 0 {
		return nil
	}
	l, err := ns.link(d.Name)
	if err != nil {
		return err
	}
	if err := ns.handle.LinkSetMTU(l, d.MTU); err != nil {
		return fmt.Errorf("set the MTU of %s to %d in namespace %s: %w", d.Name, d.MTU, ns.name, err)
	}
	return nil
}

// MTU sets the MTU of a link that something else made.
func (ns *NS) MTU(name string, mtu int) error { return ns.mtu(Device{Name: name, MTU: mtu}) }
