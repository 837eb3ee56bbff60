//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// NS is a network namespace. It exists while something refers to it: an open NS, a process
// inside it, or its name under PinDir.
type NS struct {
	name   string
	file   *os.File
	handle *netlink.Handle
	pinned bool
	close  sync.Once
}

// NewNS creates an empty network namespace with loopback up. It is deleted with the last process
// that uses it.
func NewNS(name string) (*NS, error) {
	ns := &NS{name: name}
	if err := onSpareThread(ns.create); err != nil {
		return nil, fmt.Errorf("create network namespace %s: %w", name, err)
	}
	// A socket belongs to the namespace in which it was opened. The libraries' own
	// functions for entering a namespace are not used: in a user namespace they cannot
	// return, and would leave the thread in the wrong namespace.
	err := ns.Do(func() (err error) {
		ns.handle, err = openNetlink(unix.NETLINK_ROUTE)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open netlink in namespace %s: %w", name, err), ns.Close())
	}
	if err := ns.Links().Up(loopback); err != nil {
		return nil, errors.Join(err, ns.Close())
	}
	return ns, nil
}

func (ns *NS) create() (err error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	ns.file, err = os.Open("/proc/thread-self/ns/net")
	return err
}

// Name returns the namespace's name, whether or not it is pinned.
func (ns *NS) Name() string { return ns.name }

func (ns *NS) fd() int { return int(ns.file.Fd()) }

// Path returns a path of the namespace for other programs, valid while this process has it
// open.
func (ns *NS) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), ns.fd()) }

// Do calls fn on a thread inside the namespace. fn must not start goroutines that rely on
// the namespace, nor lock or unlock its thread.
func (ns *NS) Do(fn func() error) error {
	return onSpareThread(func() error {
		if err := unix.Setns(ns.fd(), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter namespace %s: %w", ns.name, err)
		}
		return fn()
	})
}

// onSpareThread calls fn on a thread that exits afterwards, whatever fn did to its
// namespaces: in a user namespace a thread often cannot return. It never uses the main
// thread, which cannot exit and is what /proc/self refers to.
func onSpareThread(fn func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread exits with the goroutine
		if unix.Gettid() != os.Getpid() {
			done <- fn()
			return
		}
		// While this goroutine occupies the main thread, another goroutine runs on a
		// different one.
		done <- onSpareThread(fn)
		runtime.UnlockOSThread()
	}()
	return <-done
}

// Start starts cmd inside the namespace.
func (ns *NS) Start(cmd *exec.Cmd) error { return ns.Do(cmd.Start) }

// Sysctl sets a variable below /proc/sys, such as net/ipv4/ip_forward, in the namespace.
func (ns *NS) Sysctl(name, value string) error {
	return ns.Do(func() error {
		if err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0); err != nil {
			return fmt.Errorf("set %s=%s in namespace %s: %w", name, value, ns.name, err)
		}
		return nil
	})
}

// ReadSysctl reads a variable below /proc/sys as the namespace sees it.
func (ns *NS) ReadSysctl(name string) (string, error) {
	var text string
	err := ns.Do(func() error {
		data, err := os.ReadFile(filepath.Join("/proc/sys", name))
		text = strings.Join(strings.Fields(string(data)), " ")
		return err
	})
	return text, err
}

// ReadSysctls reads several variables by their paths below /proc/sys. Missing ones are
// omitted.
func (ns *NS) ReadSysctls(names []string) (map[string]string, error) {
	out := map[string]string{}
	err := ns.Do(func() error {
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join("/proc/sys", name))
			switch {
			case errors.Is(err, os.ErrNotExist):
			case err != nil:
				return fmt.Errorf("read settings of namespace %s: %w", ns.name, err)
			default:
				out[name] = strings.Join(strings.Fields(string(data)), " ")
			}
		}
		return nil
	})
	return out, err
}

// Close closes the namespace and removes its name. The kernel deletes what is inside when
// the last process has left. It may be called again.
func (ns *NS) Close() error {
	var err error
	ns.close.Do(func() {
		if ns.handle != nil {
			ns.handle.Close()
		}
		if ns.pinned {
			err = Unpin(ns.name)
		}
		ns.file.Close()
	})
	return err
}

// OpenNS opens an existing network namespace, such as a container's, by the path of a file
// that refers to it, such as /proc/PID/ns/net. Close then only closes it.
func OpenNS(name, path string) (*NS, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open network namespace %s: %w", name, err)
	}
	ns := &NS{name: name, file: file}
	err = ns.Do(func() (err error) {
		ns.handle, err = openNetlink(unix.NETLINK_ROUTE)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open netlink in namespace %s: %w", name, err), ns.Close())
	}
	return ns, nil
}
