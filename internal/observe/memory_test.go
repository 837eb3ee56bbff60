package observe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// place writes files below a directory of the test, which it returns.
func place(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// between reads a collector, puts other files in place and reads it again.
func between(t *testing.T, c Collector, root string, after map[string]string) (map[string]float64, []Gap) {
	t.Helper()
	from := must.Get(c.Read())(t)
	place(t, root, after)
	return must.Get(c.Read())(t).Since(from)
}

func holdGaps(t *testing.T, want []string, gaps []Gap) {
	t.Helper()
	if len(gaps) != len(want) {
		t.Errorf("gaps %v, want %q", gaps, want)
		return
	}
	for i, g := range gaps {
		if text := g.Metric + ": " + g.Reason; !strings.HasPrefix(text, want[i]) {
			t.Errorf("gap %q, want %q at its beginning", text, want[i])
		}
	}
}

func TestMemory(t *testing.T) {
	page := float64(os.Getpagesize())
	info := func(kib string) string { return "MemTotal: 100 kB\nMemAvailable:   " + kib + " kB\n" }
	tests := []struct {
		name          string
		before, after map[string]string
		groups        []string
		want          map[string]float64
		gaps          []string
	}{
		{
			"short of memory", map[string]string{"meminfo": info("800"), "vmstat": "pswpin 5\npswpout 7\npgmajfault 10\nallocstall_dma 1\nallocstall_normal 2\noom_kill 0\n"},
			map[string]string{"meminfo": info("200"), "vmstat": "pswpin 6\npswpout 10\npgmajfault 14\nallocstall_dma 1\nallocstall_normal 9\noom_kill 1\n"},
			nil, map[string]float64{"available": 200 * 1024, "major_faults": 4, "swapped": 4 * page, "stalls": 7, "oom_kills": 1}, nil,
		},
		{
			"less at the beginning", map[string]string{"meminfo": info("100"), "vmstat": "pgmajfault 1\n"}, map[string]string{"meminfo": info("200")},
			nil, map[string]float64{"available": 100 * 1024, "major_faults": 0},
			[]string{"swapped: this kernel does not count it", "stalls: this kernel does not count it", "oom_kills: this kernel does not count it"},
		},
		{
			"groups of both versions", map[string]string{"meminfo": info("9"), "vmstat": "pgmajfault 1\npswpin 0\nallocstall 0\noom_kill 0\n",
				"v2/memory.events": "low 0\nhigh 3\nmax 5\noom 0\noom_kill 0\n", "v1/memory.failcnt": "10\n", "v1/memory.oom_control": "under_oom 0\noom_kill 2\n"},
			map[string]string{"v2/memory.events": "low 0\nhigh 3\nmax 9\noom 1\noom_kill 1\n", "v1/memory.failcnt": "11\n"},
			[]string{"v2", "v1"}, map[string]float64{"available": 9 * 1024, "major_faults": 0, "swapped": 0, "stalls": 0, "oom_kills": 0, "group_stalls": 5, "group_oom_kills": 1}, nil,
		},
		{
			"an old kernel's group, and counters that ran backwards", map[string]string{"meminfo": info("9"), "vmstat": "pgmajfault 3\npswpin 0\nallocstall 0\noom_kill 0\n",
				"v1/memory.failcnt": "10\n", "v1/memory.oom_control": "under_oom 0\n"},
			map[string]string{"v1/memory.failcnt": "9\n", "vmstat": "pgmajfault 2\npswpin 0\nallocstall 0\noom_kill 0\n"},
			[]string{"v1"}, map[string]float64{"available": 9 * 1024, "swapped": 0, "stalls": 0, "oom_kills": 0},
			[]string{"major_faults: pgmajfault went backwards, from 3 to 2", "group_stalls: the counter went backwards", "group_oom_kills: this kernel does not count it"},
		},
		{
			"a group that is gone, garbled files", map[string]string{"meminfo": "MemAvailable: lots kB\n", "vmstat": "pgmajfault 3\npswpin 0\nallocstall 0\noom_kill 0\n"},
			nil, []string{"gone"}, map[string]float64{"major_faults": 0, "swapped": 0, "stalls": 0, "oom_kills": 0},
			[]string{`available: MemAvailable: is "lots"`, "group_stalls: read the memory events of the control group", "group_oom_kills: read the memory events of the control group"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			place(t, root, tt.before)
			var groups []string
			for _, g := range tt.groups {
				groups = append(groups, filepath.Join(root, g))
			}
			got, gaps := between(t, NewMemory(root, groups), root, tt.after)
			must.Equal(t, tt.want, got)
			holdGaps(t, tt.gaps, gaps)
		})
	}
	root := t.TempDir()
	place(t, root, map[string]string{"vmstat": "pgmajfault -3\n"})
	must.FailFor(t, "a machine without meminfo and with a garbled vmstat was read", must.Err(NewMemory(root, nil).Read()))
}

// Neither collector makes figures of garbage that a machine could not have.
func FuzzPressureAndMemory(f *testing.F) {
	f.Add([]byte("some avg10=0.00 total=12\n"), []byte("some total=13\nfull total=1\n"))
	f.Add([]byte("pgmajfault 1\npswpin 2\nallocstall_dma 3\noom_kill 4\n"), []byte("pgmajfault 9\npswpin 2\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		before, after := pressureSample{}, pressureSample{}
		for _, name := range pressureMetrics() {
			for text, s := range map[*[]byte]pressureSample{&a: before, &b: after} {
				v, err := parsePressure(*text)
				v.err = err
				s[name] = v
			}
		}
		from, to := &memorySample{}, &memorySample{}
		from.counts, from.countsErr = parseCounts(a)
		to.counts, to.countsErr = parseCounts(b)
		pressed, _ := after.Since(before)
		counted, _ := to.Since(from)
		for _, figures := range []map[string]float64{pressed, counted} {
			for name, v := range figures {
				must.True(t, v >= 0, "%s is %g", name, v)
			}
		}
	})
}

// BenchmarkMemoryRead is what the two collectors cost at each edge of a trial.
func BenchmarkMemoryRead(b *testing.B) {
	for _, c := range []Collector{NewPressure("/proc"), NewMemory("/proc", nil)} {
		b.Run(c.Name(), func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Read(); err != nil {
					testneed.Missing(b, testneed.Other, err)
				}
			}
		})
	}
}
