//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenNS opens a network namespace that others made, such as a container's: path is
// a file that stands for it, such as /proc/PID/ns/net. Closing it lets go of it only.
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
