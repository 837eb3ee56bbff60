//go:build linux

package linuxnet

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

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
