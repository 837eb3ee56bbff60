package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"tare/internal/warning"
)

// cgroups records which version of control groups manages the machine, and whether they
// limit the CPU time of this process.
func (m *machine) cgroups() {
	version, err := m.cgroupVersion()
	m.factOr("cgroup_version", version, err)
	if err != nil {
		return
	}
	cpus, limited, err := m.cpuQuota()
	switch {
	case err != nil:
		m.fact("cpu_quota", unknown(err))
	case !limited:
		m.fact("cpu_quota", "none")
	default:
		m.fact("cpu_quota", fmt.Sprintf("%.2f CPUs", cpus))
		m.warn(warning.CPUQuota, "A control group limits this process to %.2f CPUs: rates show the limit and not the mode, and the longest round trips "+
			"are the pauses until the next period, up to 100 ms as a rule. Remove the limit (--cpus, CPUQuota=, a pod's CPU limit).", warning.Said(cpus))
	}
	m.memoryLimited()
}

func (sys files) cgroupVersion() (string, error) {
	for _, mark := range []struct{ path, version string }{
		{"sys/fs/cgroup/cgroup.controllers", "2"},
		{"sys/fs/cgroup/unified/cgroup.controllers", "1, with 2 beside it"},
		{"sys/fs/cgroup/cpu", "1"},
		{"sys/fs/cgroup/memory", "1"},
	} {
		if _, err := fs.Stat(sys.fsys, mark.path); err == nil {
			return mark.version, nil
		}
	}
	return "", errors.New("nothing recognised at /sys/fs/cgroup")
}

// cpuQuota returns the CPU limit of this process's control group, in CPUs: the smallest of
// its own and of the visible groups above it. It is false if there is none.
func (sys files) cpuQuota() (float64, bool, error) {
	return sys.smallestLimit("cpu", sys.quotaV2, sys.quotaV1, func(float64, string) {})
}

// memoryLimit returns the memory limit of this process's control group, in bytes: the
// smallest of its own and of the visible groups above it. It is false if there is none.
// dirs are all groups that have a limit.
func (sys files) memoryLimit() (bytes float64, dirs []string, limited bool, err error) {
	bytes, limited, err = sys.smallestLimit("memory", sys.memoryV2, sys.memoryV1, func(_ float64, dir string) { dirs = append(dirs, dir) })
	return bytes, dirs, limited, err
}

// smallestLimit reads a limit of this process's group and of those above it, and returns the
// smallest. It calls each with every limit and its group's directory.
func (sys files) smallestLimit(controller string, v2, v1 func(dir string) (float64, error), each func(float64, string)) (float64, bool, error) {
	text, err := sys.readText("proc/self/cgroup")
	if err != nil {
		return 0, false, err
	}
	least, limited := 0.0, false
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		if len(parts) != 3 {
			continue
		}
		root, read := "sys/fs/cgroup", v2
		if controllers := strings.Split(parts[1], ","); parts[1] != "" {
			if !slices.Contains(controllers, controller) {
				continue
			}
			root, read = "sys/fs/cgroup/"+controller, v1
		}
		for _, dir := range parentDirs(parts[2]) {
			dir = path.Join(root, dir)
			limit, err := read(dir)
			if errors.Is(err, fs.ErrNotExist) {
				continue // outside this cgroup namespace, or the root group
			}
			if err != nil {
				return 0, false, err
			}
			if limit > 0 {
				each(limit, dir)
			}
			if limit > 0 && (!limited || limit < least) {
				least, limited = limit, true
			}
		}
	}
	return least, limited, nil
}

// memoryV2 reads memory.max: bytes, or "max". 0 is no limit.
func (sys files) memoryV2(dir string) (float64, error) {
	s, err := readFile(sys.fsys, dir+"/memory.max")
	if err != nil || s == "max" {
		return 0, err
	}
	return parseMemoryLimit(dir, s)
}

// memoryV1 reads memory.limit_in_bytes, which is close to the largest 64-bit integer if
// there is no limit. It returns 0 for no limit.
func (sys files) memoryV1(dir string) (float64, error) {
	s, err := readFile(sys.fsys, dir+"/memory.limit_in_bytes")
	if err != nil {
		return 0, err
	}
	bytes, err := parseMemoryLimit(dir, s)
	if bytes > noLimit {
		return 0, err
	}
	return bytes, err
}

// noLimit is more memory than any machine has, in bytes.
const noLimit = 1 << 60

func parseMemoryLimit(dir, s string) (float64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("memory limit of /%s is %q bytes", dir, s)
	}
	return float64(n), nil
}

// MemoryGroups lists the directories below root, normally "/", of those control groups of
// this process that limit its memory. Unreadable groups are omitted; the facts say why.
func MemoryGroups(root string) []string {
	sys := files{os.DirFS(root)}
	_, dirs, _, err := sys.memoryLimit()
	if err != nil {
		return nil
	}
	for i, dir := range dirs {
		dirs[i] = path.Join(root, dir)
	}
	return dirs
}

// parentDirs lists a group and all groups above it: /a/b gives a/b, a and the root.
func parentDirs(group string) []string {
	// A group outside the caller's namespace starts with /.., and only the root is visible.
	dir := strings.TrimPrefix(path.Clean("/"+group), "/")
	var dirs []string
	for dir != "" && dir != "." {
		dirs = append(dirs, dir)
		dir = path.Dir(dir)
	}
	return append(dirs, "")
}

// quotaV2 reads cpu.max: "150000 100000" microseconds a period, or "max 100000".
// 0 is no limit.
func (sys files) quotaV2(dir string) (float64, error) {
	s, err := readFile(sys.fsys, dir+"/cpu.max")
	if err != nil || strings.HasPrefix(s, "max") {
		return 0, err
	}
	quota, period, _ := strings.Cut(s, " ")
	return ratio(dir, quota, period)
}

// quotaV1 reads the two files of version 1; the quota is -1 if there is no limit. It
// returns 0 for no limit.
func (sys files) quotaV1(dir string) (float64, error) {
	quota, err := readFile(sys.fsys, dir+"/cpu.cfs_quota_us")
	if err != nil || strings.HasPrefix(quota, "-") {
		return 0, err
	}
	period, err := readFile(sys.fsys, dir+"/cpu.cfs_period_us")
	if err != nil {
		return 0, err
	}
	return ratio(dir, quota, period)
}

func ratio(dir, quota, period string) (float64, error) {
	q, errQ := strconv.ParseUint(quota, 10, 53)
	p, errP := strconv.ParseUint(period, 10, 53)
	if errQ != nil || errP != nil || q == 0 || p == 0 {
		return 0, fmt.Errorf("CPU limit of /%s is %q of %q microseconds", dir, quota, period)
	}
	return float64(q) / float64(p), nil
}
