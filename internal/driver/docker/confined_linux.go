package docker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/linuxnet"
)

// containerProcesses lists the processes of this program in the containers of a network namespace:
// the agents, and all together with the containers' first processes.
func containerProcesses(ns *linuxnet.NS) (agents, all []int, err error) {
	pids, err := ns.Processes()
	if err != nil {
		return nil, nil, err
	}
	for _, pid := range pids {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err != nil {
			continue // it has just exited
		}
		args := strings.Split(string(line), "\x00")
		if len(args) < 2 || args[0] != engine.Program {
			continue
		}
		all = append(all, pid)
		if args[1] == agent.Command {
			agents = append(agents, pid)
		}
	}
	return agents, all, nil
}

// leaveGroups moves the agents in the containers of a network namespace out of the containers'
// control groups, and returns how many.
func leaveGroups(ns *linuxnet.NS) (n int, err error) {
	agents, _, err := containerProcesses(ns)
	for _, pid := range agents {
		if err := private.LeaveGroups(pid); err != nil && !exited(err) {
			return n, err
		}
		n++
	}
	return n, err
}

// unconfined adds the conditions of containers without seccomp profile or control groups.
func (p *path) unconfined() error {
	seccomp, cgroup := p.order.Without(partSeccomp), p.order.Without(partCgroup)
	if !seccomp && !cgroup {
		return nil
	}
	var spaces []*linuxnet.NS
	for _, b := range p.boxes {
		if !slices.Contains(spaces, b.ns) {
			spaces = append(spaces, b.ns)
		}
	}
	if seccomp {
		for _, ns := range spaces {
			if err := unfiltered(ns); err != nil {
				return err
			}
		}
		p.leftOut(partSeccomp, "Seccomp: 0 in /proc/PID/status of the containers' processes")
		p.checks = append(p.checks, func() error { return each(spaces, unfiltered) })
	}
	if cgroup {
		p.leftOut(partCgroup, "/proc/PID/cgroup of the containers' agents is that of tare")
		p.checks = append(p.checks, func() error { return each(spaces, leftGroups) })
	}
	return nil
}

func each(spaces []*linuxnet.NS, check func(*linuxnet.NS) error) error {
	for _, ns := range spaces {
		if err := check(ns); err != nil {
			return err
		}
	}
	return nil
}

// leftGroups returns an error unless all agents are in the control groups of this process.
func leftGroups(ns *linuxnet.NS) error {
	agents, _, err := containerProcesses(ns)
	if err == nil && len(agents) == 0 {
		err = errors.New("no agent is in the containers of namespace " + ns.Name())
	}
	for _, pid := range agents {
		if err := private.CheckLeftGroups(pid); err != nil && !exited(err) {
			return err
		}
	}
	return err
}

// unfiltered returns an error if a process in a container has a seccomp filter.
func unfiltered(ns *linuxnet.NS) error {
	_, all, err := containerProcesses(ns)
	if err == nil && len(all) == 0 {
		err = errors.New("no process is in the containers of namespace " + ns.Name())
	}
	for _, pid := range all {
		mode, err := seccompMode(pid)
		if err != nil && !exited(err) {
			return err
		}
		if err == nil && mode != "0" {
			return fmt.Errorf("process %d in a container of namespace %s has a seccomp filter (Seccomp: %s), although its profile was left out", pid, ns.Name(), mode)
		}
	}
	return err
}

// seccompMode returns the field Seccomp of a process (proc(5)): 0 none, 1 strict, 2 filter.
func seccompMode(pid int) (string, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if mode, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			return strings.TrimSpace(mode), nil
		}
	}
	return "", fmt.Errorf("read the seccomp mode of process %d: the kernel does not report it (CONFIG_SECCOMP)", pid)
}

// exited reports whether an error comes from a process that no longer exists.
func exited(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) }
