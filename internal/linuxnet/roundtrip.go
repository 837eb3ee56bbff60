//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ErrNoConnection is the error for a process without an established TCP connection.
var ErrNoConnection = errors.New("the process has no established TCP connection")

// ShortestRTT returns the shortest round trip that the kernel saw on the only established TCP connection of a process in
// this thread's network namespace, within the last minutes: min_rtt of TCP_INFO, in steps of 1 us. It is the time from a
// segment to its acknowledgement, which the other kernel sends: no program there is waited for. The error is
// ErrNoConnection if there is no connection; several of them are an error, too.
func ShortestRTT(pid int) (time.Duration, error) {
	own, err := socketsOf(pid)
	if err != nil {
		return 0, fmt.Errorf("find the connection of process %d: %w", pid, err)
	}
	var found []uint32
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		var all []*netlink.InetDiagTCPInfoResp
		err := complete(func() (err error) {
			all, err = netlink.SocketDiagTCPInfo(family)
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("read the TCP connections of this machine (needs CONFIG_INET_DIAG): %w", err)
		}
		for _, one := range all {
			const established = 1 // TCP_ESTABLISHED, net/tcp_states.h
			if s := one.InetDiagMsg; s != nil && s.State == established && own[s.INode] && one.TCPInfo != nil {
				found = append(found, one.TCPInfo.Min_rtt)
			}
		}
	}
	const unknown = ^uint32(0)
	switch {
	case len(found) == 0:
		return 0, ErrNoConnection
	case len(found) > 1:
		return 0, fmt.Errorf("process %d has %d TCP connections", pid, len(found))
	case found[0] == 0 || found[0] == unknown:
		return 0, errors.New("this kernel does not tell the round trip of a connection (needs Linux 4.6)")
	}
	return time.Duration(found[0]) * time.Microsecond, nil
}

// socketsOf returns the inodes of the sockets of a process.
func socketsOf(pid int) (map[uint32]bool, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	inodes := map[uint32]bool{}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // closed meanwhile
		}
		number, is := strings.CutPrefix(target, "socket:[")
		if !is {
			continue
		}
		if inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 32); err == nil {
			inodes[uint32(inode)] = true
		}
	}
	return inodes, nil
}
