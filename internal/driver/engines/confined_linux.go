package engines

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

// containerProcess is a process of this program in a container.
type containerProcess struct {
	pid  int
	args []string // without the program
}

func (p containerProcess) isAgent() bool { return p.args[0] == agent.Command }

// containerProcesses lists the processes of this program in the containers of a network namespace:
// agents, and the containers' first processes.
func containerProcesses(ns *linuxnet.NS) (all []containerProcess, err error) {
	pids, err := ns.Sockets().Processes()
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		if args := argsOf(pid); len(args) > 1 && args[0] == engine.Program {
			all = append(all, containerProcess{pid, args[1:]})
		}
	}
	return all, nil
}

// argsOf returns the arguments with which a process was started, beginning with its program; none if it has
// exited.
func argsOf(pid int) []string {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
}

// leaveGroups moves the agent that was started with args in a container of a network namespace out
// of the container's control groups. It returns false while no process has these arguments. Other
// agents of the namespace stay where they are: they may belong to other containers, which are
// waiting for them.
func leaveGroups(ns *linuxnet.NS, args []string) (bool, error) {
	all, err := containerProcesses(ns)
	for _, p := range all {
		if !slices.Equal(p.args, args) {
			continue
		}
		if err := private.LeaveGroups(p.pid); !exited(err) {
			return true, err
		}
	}
	return false, err
}

// confinement adds the conditions of containers without seccomp profile or control groups.
func (p *omissions) confinement(boxes []*box) error {
	seccomp, cgroup := p.order.Without(partSeccomp), p.order.Without(partCgroup)
	if !seccomp && !cgroup {
		return nil
	}
	each := func(check func(*linuxnet.NS) error) error {
		var checked []*linuxnet.NS
		for _, b := range boxes { // in an event another one takes the place of a box
			if slices.Contains(checked, b.ns) {
				continue
			}
			if err := check(b.ns); err != nil {
				return err
			}
			checked = append(checked, b.ns)
		}
		return nil
	}
	if seccomp {
		if err := each(unfiltered); err != nil {
			return err
		}
		p.note(partSeccomp, "Seccomp: 0 in /proc/PID/status of the containers' processes")
		p.AddCheck(func() error { return each(unfiltered) })
	}
	if cgroup {
		p.note(partCgroup, "/proc/PID/cgroup of the containers' agents is that of tare")
		p.AddCheck(func() error { return each(leftGroups) })
	}
	return nil
}

// leftGroups returns an error unless all agents are in the control groups of this process.
func leftGroups(ns *linuxnet.NS) error {
	all, err := containerProcesses(ns)
	all = slices.DeleteFunc(all, func(p containerProcess) bool { return !p.isAgent() })
	if err == nil && len(all) == 0 {
		err = errors.New("no agent is in the containers of namespace " + ns.Name())
	}
	for _, p := range all {
		if err := private.CheckLeftGroups(p.pid); err != nil && !exited(err) {
			return err
		}
	}
	return err
}

// unfiltered returns an error if a process in a container has a seccomp filter.
func unfiltered(ns *linuxnet.NS) error {
	all, err := containerProcesses(ns)
	if err == nil && len(all) == 0 {
		err = errors.New("no process is in the containers of namespace " + ns.Name())
	}
	for _, p := range all {
		mode, err := seccompMode(p.pid)
		if err != nil && !exited(err) {
			return err
		}
		if err == nil && mode != "0" {
			return fmt.Errorf("process %d in a container of namespace %s has a seccomp filter (Seccomp: %s), although its profile was left out", p.pid, ns.Name(), mode)
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
