package private

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// OneGroup reports whether ShareCPU moves agents out of all control groups of their container,
// because version 2 has one group with all controllers.
func OneGroup() (bool, error) {
	_, _, unified, err := cpuGroup()
	return unified, err
}

// LeaveGroups moves a process into the control groups of this process, in every hierarchy, and
// reads them back.
func LeaveGroups(pid int) error {
	own, err := groupsOf("self")
	if err != nil {
		return err
	}
	in, err := groupsOf(strconv.Itoa(pid))
	if err != nil {
		return err
	}
	mounts, err := mounted()
	if err != nil {
		return err
	}
	for controllers, group := range own {
		if in[controllers] == group {
			continue
		}
		at := mountOf(mounts, controllers)
		if at == "" {
			return fmt.Errorf("move process %d out of its container's control group: no mount has the controllers %q", pid, controllers)
		}
		if err := os.WriteFile(filepath.Join(at, group, groupProcesses), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("move process %d out of its container's control group: %w", pid, err)
		}
	}
	return CheckLeftGroups(pid)
}

// CheckLeftGroups returns an error unless a process is in the same control groups as this process,
// in every hierarchy.
func CheckLeftGroups(pid int) error {
	own, err := groupsOf("self")
	if err != nil {
		return err
	}
	in, err := groupsOf(strconv.Itoa(pid))
	if err != nil {
		return err
	}
	for _, controllers := range slices.Sorted(maps.Keys(own)) {
		if in[controllers] != own[controllers] {
			return fmt.Errorf("process %d is in the control group %s (%s), not in %s as tare is", pid, in[controllers], cmp.Or(controllers, "version 2"), own[controllers])
		}
	}
	return nil
}

// groupsOf returns the control groups of a process by the controllers of their hierarchy, as in
// /proc/PID/cgroup: "cpu,cpuacct", "name=systemd", or empty for version 2.
func groupsOf(pid string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "cgroup"))
	if err != nil {
		return nil, fmt.Errorf("find the control groups of process %s: %w", pid, err)
	}
	groups := map[string]string{}
	for line := range strings.Lines(string(text)) {
		// cgroups(7): hierarchy id, controllers, path.
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 {
			groups[f[1]] = f[2]
		}
	}
	if len(groups) == 0 {
		return nil, errors.New("find the control groups of process " + pid + ": it is in none")
	}
	return groups, nil
}

// mountOf returns where the hierarchy with these controllers is mounted, "" if it is not. A
// hierarchy of version 1 is mounted under the names of its controllers.
func mountOf(mounts map[string]string, controllers string) string {
	want := strings.Split(strings.TrimPrefix(controllers, "name="), ",")
	for _, at := range slices.Sorted(maps.Keys(mounts)) {
		switch mounts[at] {
		case "cgroup2":
			if controllers == "" {
				return at
			}
		case "cgroup":
			if slices.ContainsFunc(strings.Split(filepath.Base(at), ","), func(name string) bool { return slices.Contains(want, name) }) {
				return at
			}
		}
	}
	return ""
}
