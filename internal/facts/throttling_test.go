package facts_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/facts"
	"tare/internal/testkit/must"
)

// Throttling is read from both versions of control groups, of the process's group and those above it.
func TestThrottling(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string
		periods uint64
		stopped time.Duration
		known   bool
	}{
		"version 2": {map[string]string{"proc/self/cgroup": "0::/pod/a\n", "sys/fs/cgroup/pod/a/cpu.stat": "usage_usec 9\nnr_periods 7\nnr_throttled 3\nthrottled_usec 250000\n",
			"sys/fs/cgroup/pod/cpu.stat": "nr_throttled 1\nthrottled_usec 10000\n", "sys/fs/cgroup/cpu.stat": "usage_usec 9\n"}, 4, 260 * time.Millisecond, true},
		"version 1": {map[string]string{"proc/self/cgroup": "5:cpu,cpuacct:/k/pod\n2:memory:/k\n", "sys/fs/cgroup/cpu/cpu.stat": "nr_periods 5\nnr_throttled 2\nthrottled_time 1500000\n"},
			2, 1500 * time.Microsecond, true},
		"never":         {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.stat": "nr_throttled 0\nthrottled_usec 0\n"}, 0, 0, true},
		"no controller": {map[string]string{"proc/self/cgroup": "0::/\n"}, 0, 0, false},
		"nonsense":      {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.stat": "nr_throttled -4\nthrottled_usec x\n"}, 0, 0, false},
		"nothing":       {nil, 0, 0, false},
	} {
		dir := t.TempDir()
		for path, text := range c.files {
			must.Do(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755))
			must.Do(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644))
		}
		if periods, stopped, known := facts.Throttling(dir); periods != c.periods || stopped != c.stopped || known != c.known {
			t.Errorf("%s: %d periods, %s, known %t; want %d, %s, %t", name, periods, stopped, known, c.periods, c.stopped, c.known)
		}
	}
}
