//go:build linux

package linuxnet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

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
