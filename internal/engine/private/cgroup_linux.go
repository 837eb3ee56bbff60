package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/study"
)

// Hierarchies returns where control groups are mounted, of both versions.
func Hierarchies() ([]string, error) {
	mounts, err := mounted()
	if err != nil {
		return nil, err
	}
	var at []string
	for dir, kind := range mounts {
		if strings.HasPrefix(kind, "cgroup") {
			at = append(at, dir)
		}
	}
	slices.Sort(at)
	return at, nil
}

// MakeGroups claims a name and makes a control group of it in every hierarchy. RemoveClaimed removes them. On error nothing of it
// remains, and a claim of another is untouched.
func MakeGroups(name string) error {
	all, err := Hierarchies()
	if err == nil {
		err = Claim(name)
	}
	if err != nil {
		return err
	}
	for _, h := range all {
		if err := makeGroup(h, name); err != nil {
			return errors.Join(err, RemoveClaimed(name))
		}
	}
	return nil
}

// makeGroup makes the control group of a name in a hierarchy. In version 2 it has the controllers that the machine's root group passes
// on to all its groups: to pass on more would change the machine, and could not be undone where another program came to use one.
func makeGroup(h, name string) error {
	group := filepath.Join(h, lab.Prefix+name)
	if err := os.MkdirAll(group, 0o755); err != nil {
		return err
	}
	// In version 1, a new group has no CPUs until it is given some.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(h, file))
		if err != nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(group, file), value, 0); err != nil {
			return err
		}
	}
	return nil
}

// EnterGroups moves this process into the control groups that MakeGroups made of a name, and mounts each in the place of its hierarchy, in a
// mount namespace of Isolate. A new namespace of control groups then has them as its roots.
func EnterGroups(name string) error {
	all, err := Hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		group := filepath.Join(h, lab.Prefix+name)
		if err := os.WriteFile(filepath.Join(group, groupProcesses), []byte("0"), 0); err != nil {
			return fmt.Errorf("enter the control group %s: %w", group, err)
		}
		if err := mount(group, h, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

// removeCgroups removes the control group of that name from the root of each hierarchy, including
// its subgroups. Its processes must have been killed.
func removeCgroups(name string) error {
	all, err := Hierarchies()
	if err != nil {
		return err
	}
	var errs []error
	for _, h := range all {
		errs = append(errs, removeCgroup(filepath.Join(h, name)))
	}
	return errors.Join(errs...)
}

// removeCgroup removes a control group and its subgroups. The kernel keeps a group briefly after
// its last process has exited.
func removeCgroup(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir():
			dirs = append(dirs, path)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read control group %s: %w", dir, err)
	}
	deadline := time.Now().Add(endTimeout())
	for _, d := range slices.Backward(dirs) {
		for {
			// Not os.Remove: that tries to unlink first, which gives a different error.
			err := unix.Rmdir(d)
			if err == nil || errors.Is(err, unix.ENOENT) {
				break
			}
			if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
				return fmt.Errorf("remove control group %s: %w", d, err)
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// ShareCPU moves the agents of a container into the CPU scheduling group of this process, so that
// the endpoints of a trial are scheduled like two processes of the same machine in every mode. Two
// hosts of a lab share their CPUs, which two machines do not: with one group per endpoint, the
// scheduler would divide the CPU between the groups in slices of milliseconds, and the mode would
// be charged for a cost that its network does not have. Memory and everything else stay as the
// engine set them.
//
// It returns the number of agents that it moved, which is 0 until the engine has started them. It
// does not move the agents of a container whose group has a CPU limit; held is then true.
func (p *Engine) ShareCPU(c *engine.Container) (moved int, held bool, err error) {
	if p.rootless { // its containers have no control groups
		return 0, true, nil
	}
	h, own, unified, err := cpuGroup()
	if err != nil {
		return 0, false, err
	}
	if h == "" || c.Limit.CPUs > 0 || unified && c.Limit != (study.Limit{}) {
		return 0, true, nil
	}
	pids, err := p.Processes(c)
	if err != nil {
		return 0, false, err
	}
	for _, pid := range pids {
		if !isAgent(pid) {
			continue
		}
		err := moveProcess(pid, filepath.Join(h, own))
		if errors.Is(err, unix.ESRCH) {
			continue // it has exited
		}
		if err != nil {
			return 0, false, err
		}
		moved++
	}
	return moved, false, nil
}

// moveProcess moves a process into a CPU scheduling group.
func moveProcess(pid int, group string) error {
	if err := os.WriteFile(filepath.Join(group, groupProcesses), []byte(strconv.Itoa(pid)), 0); err != nil {
		return fmt.Errorf("share the CPU between client and server: move process %d: %w", pid, err)
	}
	return nil
}

// Processes lists the processes in the CPU scheduling group of a container, by their ids on this
// machine. Those that ShareCPU or ShareSandbox has moved are not among them. It is empty if the kernel
// has no such groups.
func (p *Engine) Processes(c *engine.Container) (pids []int, err error) {
	h, _, _, err := cpuGroup()
	if err != nil || h == "" {
		return nil, err
	}
	list, err := os.ReadFile(filepath.Join(h, p.cgroup, p.groups+c.ID, groupProcesses))
	if err != nil {
		return nil, fmt.Errorf("list the processes of container %s: %w", c.Name, err)
	}
	for word := range strings.FieldsSeq(string(list)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("list the processes of container %s: %w", c.Name, err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// memoryKills reads how many processes of a container the kernel has killed because memory ran out. there is false if the container has no
// control group that tells.
func (p *Engine) memoryKills(c *engine.Container) (n uint64, there bool) {
	all, err := Hierarchies()
	if err != nil {
		return 0, false
	}
	for _, h := range all {
		for _, file := range []string{"memory.oom_control", "memory.events"} { // of version 1, and 2
			text, err := os.ReadFile(filepath.Join(h, p.cgroup, p.groups+c.ID, file))
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(text)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
				if name != "oom_kill" {
					continue
				}
				n, err := strconv.ParseUint(value, 10, 64)
				return n, err == nil
			}
		}
	}
	return 0, false
}

// ShareSandbox is ShareCPU for a container in a sandbox of gVisor, whose agents are not processes of
// this machine: it moves all processes of the sandbox, and what they start later is started there.
func (p *Engine) ShareSandbox(c *engine.Container) error {
	h, own, unified, err := cpuGroup()
	if err != nil || h == "" || c.Limit.CPUs > 0 || unified && c.Limit != (study.Limit{}) {
		return err
	}
	// What a process has started meanwhile is in the next list. One that exits may stay in the group.
	for moved := map[int]bool{}; ; {
		pids, err := p.Processes(c)
		pids = slices.DeleteFunc(pids, func(pid int) bool { return moved[pid] })
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			if err := moveProcess(pid, filepath.Join(h, own)); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
			moved[pid] = true
		}
	}
}

// isAgent distinguishes an agent from the container's first process, and from the runtime that
// starts it.
func isAgent(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	args := strings.Split(string(line), "\x00")
	return err == nil && len(args) > 1 && args[0] == engine.Program && args[1] == agent.Command
}

// groupProcesses is the file of a control group that lists its processes and takes the ids of
// processes to move into it.
const groupProcesses = "cgroup.procs"

// cpuGroup returns the hierarchy of control groups that schedules CPUs and this process's group in
// it. unified is true for version 2, where one group has all controllers. Without a hierarchy,
// which is not an error, all processes are scheduled alike.
func cpuGroup() (hierarchy, own string, unified bool, err error) {
	all, err := Hierarchies()
	if err != nil {
		return "", "", false, err
	}
	of, err := groupsOf("self")
	if err != nil {
		return "", "", false, err
	}
	groups := map[string]string{}
	for controllers, group := range of {
		for name := range strings.SplitSeq(controllers, ",") {
			groups[name] = group
		}
	}
	for _, h := range all {
		if slices.Contains(strings.Split(filepath.Base(h), ","), "cpu") {
			return h, groups["cpu"], false, nil
		}
	}
	const v2 = "/sys/fs/cgroup"
	if _, ok := groups[""]; ok && slices.Contains(all, v2) {
		return v2, groups[""], true, nil
	}
	return "", "", false, nil
}

// cpuGroupSuffix is the end of the name of JoinCPUGroup's group.
const cpuGroupSuffix = "-cpu"

// JoinCPUGroup moves this process, and all that it starts later, into a new CPU scheduling group,
// into which ShareCPU then moves agents. Outside of any group the kernel would create one per
// session (sched_autogroup, sched(7)), and an agent in a container has its own session. If this
// process is in a group already, JoinCPUGroup does nothing. leave undoes it and is never nil.
func JoinCPUGroup(run string) (leave func() error, err error) {
	nothing := func() error { return nil }
	h, own, _, err := cpuGroup()
	if err != nil || h == "" || own != "/" {
		return nothing, err
	}
	name := run + cpuGroupSuffix
	if err := Claim(name); err != nil {
		return nothing, fmt.Errorf("create a CPU group for client and server: %w", err)
	}
	group := filepath.Join(h, lab.Prefix+name)
	if err := os.Mkdir(group, 0o755); err != nil {
		return nothing, errors.Join(fmt.Errorf("create a CPU group for client and server: %w", err), unclaim(name))
	}
	self := []byte(strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(filepath.Join(group, groupProcesses), self, 0); err != nil {
		return nothing, errors.Join(fmt.Errorf("join a CPU group for client and server: %w", err), RemoveClaimed(name))
	}
	return func() error {
		return errors.Join(os.WriteFile(filepath.Join(h, groupProcesses), self, 0), RemoveClaimed(name))
	}, nil
}
