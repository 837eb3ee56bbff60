package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// cpuQuota is the CPU limit of this process's control group, in CPUs: the
// smallest of its own and those of the groups above it that can be seen. It is
// false when there is none.
func (m *machine) cpuQuota() (float64, bool, error) {
	text, err := m.readText("proc/self/cgroup")
	if err != nil {
		return 0, false, err
	}
	least, limited := 0.0, false
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		if len(parts) != 3 {
			continue
		}
		root, read := "sys/fs/cgroup", m.quotaV2
		if controllers := strings.Split(parts[1], ","); parts[1] != "" {
			if !slices.Contains(controllers, "cpu") {
				continue
			}
			root, read = "sys/fs/cgroup/cpu", m.quotaV1
		}
		for _, dir := range upwards(parts[2]) {
			cpus, err := read(path.Join(root, dir))
			if errors.Is(err, fs.ErrNotExist) {
				continue // outside this cgroup namespace, or the root group
			}
			if err != nil {
				return 0, false, err
			}
			if cpus > 0 && (!limited || cpus < least) {
				least, limited = cpus, true
			}
		}
	}
	return least, limited, nil
}

// upwards lists a group and all above it: /a/b gives a/b, a and the root.
func upwards(group string) []string {
	// A group outside the caller's namespace starts with /.., and all that can
	// be seen of it is the root.
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
func (m *machine) quotaV2(dir string) (float64, error) {
	s, err := readFile(m.fsys, dir+"/cpu.max")
	if err != nil || strings.HasPrefix(s, "max") {
		return 0, err
	}
	quota, period, _ := strings.Cut(s, " ")
	return ratio(dir, quota, period)
}

// quotaV1 reads the two files of version 1, of which the quota is -1 when there
// is no limit. 0 is no limit.
func (m *machine) quotaV1(dir string) (float64, error) {
	quota, err := readFile(m.fsys, dir+"/cpu.cfs_quota_us")
	if err != nil || strings.HasPrefix(quota, "-") {
		return 0, err
	}
	period, err := readFile(m.fsys, dir+"/cpu.cfs_period_us")
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
