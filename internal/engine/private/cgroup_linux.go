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

// hierarchies lists where control groups are mounted, of either version.
func hierarchies() ([]string, error) {
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

// removeCgroups removes the control group of that name from the root of each
// hierarchy, with those below it. Its processes must have been killed.
func removeCgroups(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	var errs []error
	for _, h := range all {
		errs = append(errs, removeCgroup(filepath.Join(h, name)))
	}
	return errors.Join(errs...)
}

// removeCgroup removes a control group and those below it. The kernel keeps a group
// for a moment after its last process has ended.
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
		return fmt.Errorf("look into control group %s: %w", dir, err)
	}
	deadline := time.Now().Add(endTimeout)
	for _, d := range slices.Backward(dirs) {
		for {
			// Not os.Remove: it would first try to unlink, which is another error.
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

// ShareCPU moves the agents of a container into the group in which the kernel
// schedules this process, so that the ends of a trial are scheduled as two processes
// of one machine are, whatever they run in. Two hosts of a lab share their CPUs, which
// two machines do not: with a group for each end, the scheduler deals the CPU out
// between the groups in slices of milliseconds, and a mode is charged for what no
// network of its own costs. Memory and all else stay as the engine set them.
//
// It answers how many agents it has moved, which is 0 until the engine has started
// them. A container with a limit that the group holds is left as it is; held is then
// true.
func (p *Engine) ShareCPU(c *engine.Container) (moved int, held bool, err error) {
	h, own, unified, err := cpuGroup()
	if err != nil {
		return 0, false, err
	}
	if h == "" || c.Limit.CPUs > 0 || unified && c.Limit != (study.Limit{}) {
		return 0, true, nil
	}
	list, err := os.ReadFile(filepath.Join(h, p.cgroup, c.ID, groupProcesses))
	if err != nil {
		return 0, false, fmt.Errorf("share the CPU between the ends of a trial: %w", err)
	}
	for pid := range strings.FieldsSeq(string(list)) {
		if !isAgent(pid) {
			continue
		}
		err := os.WriteFile(filepath.Join(h, own, groupProcesses), []byte(pid), 0)
		if errors.Is(err, unix.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return 0, false, fmt.Errorf("share the CPU between the ends of a trial: move process %s: %w", pid, err)
		}
		moved++
	}
	return moved, false, nil
}

// isAgent tells an agent from the container's first process, and from what the
// engine starts it with.
func isAgent(pid string) bool {
	line, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
	args := strings.Split(string(line), "\x00")
	return err == nil && len(args) > 1 && args[0] == engine.Program && args[1] == agent.Command
}

// groupProcesses is the file of a control group that lists its processes, and into
// which they are moved.
const groupProcesses = "cgroup.procs"

// cpuGroup finds the hierarchy of control groups that schedules CPUs and this
// process's group in it. unified says that it is version 2, where one group is for
// everything. No hierarchy is no error: then all is scheduled alike.
func cpuGroup() (hierarchy, own string, unified bool, err error) {
	all, err := hierarchies()
	if err != nil {
		return "", "", false, err
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", "", false, fmt.Errorf("find the control group of this process: %w", err)
	}
	groups := map[string]string{}
	for line := range strings.Lines(string(text)) {
		// cgroups(7): hierarchy id, its controllers, the path; version 2 has none.
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 {
			for name := range strings.SplitSeq(f[1], ",") {
				groups[name] = f[2]
			}
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

// cpuGroupSuffix ends the name of the group that Gather makes.
const cpuGroupSuffix = "-cpu"

// JoinCPUGroup puts this process, and with it all that it starts from then on, into a
// group of CPU scheduling of its own, into which ShareCPU then moves agents: outside
// of any group the kernel would make one for each session by itself
// (sched_autogroup, sched(7)), and an agent in a container has a session of its own.
// Where this process is in a group already, nothing is done. leave undoes it; it is
// never nil.
func JoinCPUGroup(run string) (leave func() error, err error) {
	nothing := func() error { return nil }
	h, own, _, err := cpuGroup()
	if err != nil || h == "" || own != "/" {
		return nothing, err
	}
	name := lab.Prefix + run + cpuGroupSuffix
	group := filepath.Join(h, name)
	if err := os.Mkdir(group, 0o755); err != nil {
		return nothing, fmt.Errorf("make a group in which all ends are scheduled alike: %w", err)
	}
	self := []byte(strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(filepath.Join(group, groupProcesses), self, 0); err != nil {
		return nothing, errors.Join(fmt.Errorf("enter a group in which all ends are scheduled alike: %w", err), removeCgroup(group))
	}
	return func() error {
		return errors.Join(os.WriteFile(filepath.Join(h, groupProcesses), self, 0), removeCgroup(group))
	}, nil
}
