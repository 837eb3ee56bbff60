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

// Below is Children with those that they have started in turn, and so on.
func Below(pid int) ([]int, error) {
	all, err := Children(pid)
	if err != nil {
		return nil, err
	}
	for _, child := range slices.Clone(all) {
		if more, err := Below(child); err == nil { // else it has just ended
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
