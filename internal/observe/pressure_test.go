package observe

import (
	"testing"

	"tare/internal/testkit/must"
)

func TestPressure(t *testing.T) {
	line := func(total string) string {
		return "some avg10=1.00 avg60=2.00 avg300=0.50 total=" + total + "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
	}
	tests := []struct {
		name          string
		before, after map[string]string
		want          map[string]float64
		gaps          []string // parts of their reasons, by metric
	}{
		{
			"all three", map[string]string{"pressure/cpu": line("1000000"), "pressure/memory": line("5"), "pressure/io": line("0")},
			map[string]string{"pressure/cpu": line("3500000"), "pressure/memory": line("5"), "pressure/io": line("250000")},
			map[string]float64{"cpu": 2.5, "memory": 0, "io": 0.25}, nil,
		},
		{
			"a kernel from before pressure of CPUs had a file", map[string]string{"pressure/memory": line("5")}, map[string]string{"pressure/memory": line("1000005")},
			map[string]float64{"memory": 1}, []string{"cpu: read pressure from", "io: read pressure from"},
		},
		{
			"a counter that ran backwards, and garbage", map[string]string{"pressure/cpu": line("9"), "pressure/memory": line("5"), "pressure/io": line("0")},
			map[string]string{"pressure/cpu": line("8"), "pressure/memory": "full total=4\n", "pressure/io": line("many")},
			map[string]float64{}, []string{"cpu: the counter went backwards, from 9 to 8 us", "memory: read pressure", `io: read pressure`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			place(t, root, tt.before)
			got, gaps := between(t, NewPressure(root), root, tt.after)
			must.Equal(t, tt.want, got)
			holdGaps(t, tt.gaps, gaps)
		})
	}
	must.Fail(t, must.Err(NewPressure(t.TempDir()).Read()), "the kernel does not count it")
}

// Files read elsewhere yield the same metrics as the collectors.
func TestPressureFiles(t *testing.T) {
	root := t.TempDir()
	place(t, root, map[string]string{
		"meminfo": "MemTotal: 9 kB\nMemAvailable: 5 kB\n", "vmstat": "nr_free_pages 4\npgmajfault 1\npswpin 0\noom_kill 2\n",
		"pressure/cpu": "some avg10=1.00 total=5\nfull avg10=0.00 total=1\n", "pressure/memory": "some total=7\n",
	})
	before := ReadPressureFiles(root)
	want := PressureFiles{"meminfo": "MemAvailable: 5 kB\n", "vmstat": "pgmajfault 1\npswpin 0\noom_kill 2\n", "pressure/cpu": "some avg10=1.00 total=5\n", "pressure/memory": "some total=7\n"}
	must.Equal(t, want, before)
	place(t, root, map[string]string{"meminfo": "MemAvailable: 4 kB\n", "pressure/cpu": "some total=1000005\n", "vmstat": "pgmajfault 4\npswpin 0\noom_kill 1\n"})
	figures := map[string]float64{"pressure_cpu": 1, "pressure_memory": 0, "memory_available": 4096, "memory_major_faults": 3, "memory_swapped": 0}
	must.Equal(t, figures, ReadPressureFiles(root).Since(before))
	must.EqualFor(t, "a machine without procfs gives", 0, len(ReadPressureFiles(t.TempDir()).Since(before)))
}

func TestMergeHosts(t *testing.T) {
	a := map[string]float64{"pressure_cpu": 1, "memory_available": 10, "memory_stalls": 2, "memory_swapped": 5}
	b := map[string]float64{"pressure_cpu": 3, "memory_available": 20, "memory_stalls": 1, "pressure_io": 0}
	want := map[string]float64{"pressure_cpu": 3, "memory_available": 10, "memory_stalls": 3, "memory_swapped": 5, "pressure_io": 0}
	must.Equal(t, want, MergeHosts(a, b))
	must.Equal(t, b, MergeHosts(nil, b))
}
