//go:build linux

package linuxnet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Processes lists the processes that are in the namespace, by their ids as /proc has
// them. Those of others than the caller are seen only by root.
func (ns *NS) Processes() ([]int, error) {
	var own, of unix.Stat_t
	if err := unix.Fstat(ns.fd(), &own); err != nil {
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
		// A process that has just ended, or that is not ours to look at, is in none.
		if unix.Stat(filepath.Join("/proc", e.Name(), "ns/net"), &of) == nil && of.Dev == own.Dev && of.Ino == own.Ino {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Children lists the processes that a process has started, by their ids. It needs
// CONFIG_PROC_CHILDREN, which distributions' kernels have.
func Children(pid int) ([]int, error) {
	lists, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task/*/children"))
	if err != nil || len(lists) == 0 {
		return nil, fmt.Errorf("find what process %d has started: it has ended, or the kernel lacks CONFIG_PROC_CHILDREN", pid)
	}
	var all []int
	for _, l := range lists {
		text, err := os.ReadFile(l)
		if err != nil {
			continue // that thread has just ended
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

// Descendants is Children with those that they have started in turn, and so on.
func Descendants(pid int) ([]int, error) {
	all, err := Children(pid)
	if err != nil {
		return nil, err
	}
	for _, child := range slices.Clone(all) {
		if more, err := Descendants(child); err == nil { // else it has just ended
			all = append(all, more...)
		}
	}
	return all, nil
}

// RunTime is how long the threads that a process has now have been on a CPU, in ns.
func RunTime(pid int) (sum uint64, err error) {
	files, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task/*/schedstat"))
	if err != nil {
		return 0, err
	}
	if len(files) == 0 {
		return 0, fmt.Errorf("process %d has ended", pid)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return 0, err
		}
		// Run time, wait time and time slices (kernel, Documentation/scheduler).
		on, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseUint(on, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", f, err)
		}
		sum += n
	}
	return sum, nil
}

// Listeners lists the processes that listen at a TCP port of the namespace, at whatever
// address of it. Those of others than the caller are seen only by root.
func (ns *NS) Listeners(port uint16) ([]int, error) {
	sockets := map[string]bool{}
	err := ns.Do(func() error {
		for _, family := range []string{"tcp", "tcp6"} {
			text, err := os.ReadFile("/proc/thread-self/net/" + family)
			if os.IsNotExist(err) {
				continue // a kernel without IPv6
			}
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				if inode, ok := listening(line, port); ok {
					sockets["socket:["+inode+"]"] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find who listens at port %d in namespace %s: %w", port, ns.name, err)
	}
	if len(sockets) == 0 {
		return nil, nil
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, l := range links {
		to, err := os.Readlink(l)
		if err != nil || !sockets[to] {
			continue // closed meanwhile, or something else
		}
		pid, err := strconv.Atoi(strings.Split(l, "/")[2])
		if err == nil && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// listening reads a line of /proc/net/tcp (Documentation/networking/proc_net_tcp.rst of
// the kernel): number, local address, remote address, state, ... the inode tenth.
func listening(line string, port uint16) (inode string, ok bool) {
	const listen = "0A"
	f := strings.Fields(line)
	if len(f) < 10 || f[3] != listen {
		return "", false
	}
	_, at, _ := strings.Cut(f[1], ":")
	n, err := strconv.ParseUint(at, 16, 16)
	return f[9], err == nil && uint16(n) == port
}
