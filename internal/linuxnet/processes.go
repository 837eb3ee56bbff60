//go:build linux

package linuxnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Processes lists the ids of the processes in the namespace, as in /proc. Only root sees
// processes of other users.
func (ns *Sockets) Processes() ([]int, error) {
	var own, of unix.Stat_t
	if err := unix.Fstat(ns.whole().fd(), &own); err != nil {
		return nil, fmt.Errorf("list the processes of namespace %s: %w", ns.name, err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list the processes of namespace %s: %w", ns.name, err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// A process that has just exited, or whose namespace is not readable, is not
		// listed.
		if unix.Stat(filepath.Join("/proc", e.Name(), "ns/net"), &of) == nil && of.Dev == own.Dev && of.Ino == own.Ino {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Owner returns the user of a process. A process that acts for one user with the rights of
// another, such as one with the setuid bit, has none. The owner of its directory in /proc does
// not tell: any process can have that be root (PR_SET_DUMPABLE, proc(5)).
func Owner(pid int) (user int, err error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, fmt.Errorf("find the user of process %d: %w", pid, err)
	}
	for line := range strings.Lines(string(text)) {
		ids, ok := strings.CutPrefix(line, "Uid:")
		if !ok {
			continue
		}
		// Real, effective, saved, and of file accesses.
		if of := slices.Compact(strings.Fields(ids)); len(of) == 1 {
			return strconv.Atoi(of[0])
		}
	}
	return 0, fmt.Errorf("find the user of process %d: it has several", pid)
}

// Children lists the ids of a process's children. It requires CONFIG_PROC_CHILDREN, which
// distribution kernels have.
func Children(pid int) ([]int, error) {
	lists, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task/*/children"))
	if err != nil || len(lists) == 0 {
		return nil, fmt.Errorf("list the children of process %d: it has ended, or the kernel lacks CONFIG_PROC_CHILDREN", pid)
	}
	var all []int
	for _, l := range lists {
		text, err := os.ReadFile(l)
		if err != nil {
			continue // the thread has just exited
		}
		for _, word := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", l, err)
			}
			all = append(all, child)
		}
	}
	return all, nil
}

// Descendants lists the ids of a process's children, their children, and so on.
func Descendants(pid int) ([]int, error) {
	all, err := Children(pid)
	if err != nil {
		return nil, err
	}
	for _, child := range slices.Clone(all) {
		if more, err := Descendants(child); err == nil { // otherwise it has just exited
			all = append(all, more...)
		}
	}
	return all, nil
}

// CPUTime reads the CPU time of a process in nanoseconds, with that of its threads that have ended:
// those of a Go program come and go.
func CPUTime(pid int) (uint64, error) {
	// clock_getcpuclockid(3): the complement of the id, and CPUCLOCK_SCHED.
	const sched = 2
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|sched), &t) //nolint:gosec // the kernel's encoding
	if errors.Is(err, unix.EINVAL) {
		return 0, fmt.Errorf("process %d has ended", pid)
	}
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	return uint64(t.Nano()), nil //nolint:gosec // it does not run backwards
}

// Listeners lists the processes that listen on a TCP port in the namespace, on any address.
// Only root sees processes of other users.
func (ns *Sockets) Listeners(port uint16) ([]int, error) {
	pids, err := ns.socketOwners(func(s tcpSocket) bool { return s.listens && s.port == port })
	if err != nil {
		return nil, fmt.Errorf("find the listeners on port %d in namespace %s: %w", port, ns.name, err)
	}
	return pids, nil
}

// ConnectionOwners lists the processes that have a TCP connection with these addresses in the
// namespace. Only root sees processes of other users.
func (ns *Sockets) ConnectionOwners(local, remote netip.AddrPort) ([]int, error) {
	own, peer := procAddress(local), procAddress(remote)
	pids, err := ns.socketOwners(func(s tcpSocket) bool { return s.local == own && s.remote == peer })
	if err != nil {
		return nil, fmt.Errorf("find the process with the connection from %s to %s in namespace %s: %w", local, remote, ns.name, err)
	}
	return pids, nil
}

// OpenConnections counts the TCP sockets in the namespace that have a local port from first to
// last, or a remote one, and are neither listening nor in TIME_WAIT. Those to such a port at an
// address of except do not count.
func (ns *Sockets) OpenConnections(first, last uint16, except ...netip.Addr) (n int, err error) {
	var kept []string
	for _, a := range except {
		kept = append(kept, strings.TrimSuffix(procAddress(netip.AddrPortFrom(a, 0)), "0000"))
	}
	within := func(address string, port uint16) bool {
		return port >= first && port <= last && !slices.ContainsFunc(kept, func(k string) bool { return strings.HasPrefix(address, k) })
	}
	err = ns.eachTCPSocket(func(s tcpSocket) {
		if !s.listens && !s.waits && (within(s.local, s.port) || within(s.remote, s.remotePort)) {
			n++
		}
	})
	if err != nil {
		return 0, fmt.Errorf("count the connections in namespace %s: %w", ns.name, err)
	}
	return n, nil
}

// socketOwners lists the processes that have a socket which matches.
func (ns *Sockets) socketOwners(match func(tcpSocket) bool) ([]int, error) {
	sockets := map[string]bool{}
	err := ns.eachTCPSocket(func(s tcpSocket) {
		if match(s) {
			sockets["socket:["+s.inode+"]"] = true
		}
	})
	if err != nil || len(sockets) == 0 {
		return nil, err
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, l := range links {
		to, err := os.Readlink(l)
		if err != nil || !sockets[to] {
			continue // closed by now, or not a socket
		}
		pid, err := strconv.Atoi(strings.Split(l, "/")[2])
		if err == nil && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// eachTCPSocket calls fn with each TCP socket in the namespace.
func (ns *Sockets) eachTCPSocket(fn func(tcpSocket)) error {
	return ns.whole().Do(func() error {
		for _, family := range []string{"tcp", "tcp6"} {
			text, err := os.ReadFile("/proc/thread-self/net/" + family)
			if os.IsNotExist(err) {
				continue // a kernel without IPv6
			}
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				if s, ok := parseTCPSocket(line); ok {
					fn(s)
				}
			}
		}
		return nil
	})
}

// tcpSocket is a line of /proc/net/tcp. Its addresses are as there, with the port.
type tcpSocket struct {
	local, remote    string
	port, remotePort uint16
	listens, waits   bool // waits: in TIME_WAIT
	inode            string
}

// parseTCPSocket parses a line of /proc/net/tcp (kernel:
// Documentation/networking/proc_net_tcp.rst): number, local address, remote address, state,
// ..., inode as the tenth column.
func parseTCPSocket(line string) (s tcpSocket, ok bool) {
	const timeWait, listen = "06", "0A"
	f := strings.Fields(line)
	if len(f) < 10 {
		return s, false
	}
	port := func(address string) (uint16, error) {
		_, at, _ := strings.Cut(address, ":")
		n, err := strconv.ParseUint(at, 16, 16)
		return uint16(n), err
	}
	own, err := port(f[1])
	peer, errPeer := port(f[2])
	return tcpSocket{local: f[1], remote: f[2], port: own, remotePort: peer, listens: f[3] == listen, waits: f[3] == timeWait, inode: f[9]}, err == nil && errPeer == nil
}

// procAddress formats an address as in /proc/net/tcp: words of 32 bits in the CPU's byte order.
func procAddress(a netip.AddrPort) string {
	var text strings.Builder
	for word := range slices.Chunk(a.Addr().AsSlice(), 4) {
		fmt.Fprintf(&text, "%08X", binary.NativeEndian.Uint32(word))
	}
	return fmt.Sprintf("%s:%04X", &text, a.Port())
}
