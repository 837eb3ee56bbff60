package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// rest is what follows the cpu lines in /proc/stat. Stricter parsers reject this softirq
// line.
const rest = "intr 656027 0 0 9\nctxt 1058190\nbtime 1795223642\nsoftirq 1 2\n"

// procStat creates a procfs that contains only stat.
func procStat(t testing.TB, stat string) string {
	t.Helper()
	root := t.TempDir()
	place(t, root, map[string]string{"stat": stat})
	return root
}

// TestCPUSince covers the pitfalls of /proc/stat. Columns: user nice system idle iowait irq
// softirq steal guest guest_nice, in ticks of 10 ms.
func TestCPUSince(t *testing.T) {
	tests := []struct {
		name          string
		before, after string
		want          map[string]float64
		gaps          []Gap
		busy          float64 // -1: unknown
	}{
		{
			name:   "every column, steal apart",
			before: "cpu  100 10 50 1000 5 1 20 30 0 0\n" + rest,
			after:  "cpu  200 20 100 1100 5 2 60 80 0 0\n" + rest,
			want:   map[string]float64{"user": 1.1, "system": 0.5, "irq": 0.01, "softirq": 0.4, "steal": 0.5, "idle": 1},
			busy:   2.01,
		},
		{
			name:   "a guest's time is inside user and nice already",
			before: "cpu  100 10 50 1000 5 1 20 0 90 9\n",
			after:  "cpu  300 20 50 1000 5 1 20 0 290 19\n",
			want:   map[string]float64{"user": 2.1, "system": 0, "irq": 0, "softirq": 0, "steal": 0, "idle": 0},
			busy:   2.1,
		},
		{
			name:   "iowait runs backwards into idle",
			before: "cpu  100 0 50 1000 50 0 0 0 0 0\n",
			after:  "cpu  100 0 50 1120 40 0 0 0 0 0\n",
			want:   map[string]float64{"user": 0, "system": 0, "irq": 0, "softirq": 0, "steal": 0, "idle": 1.1},
		},
		{
			name:   "a counter that wraps is absent, the others stay",
			before: "cpu  100 0 18446744073709551610 1000 0 0 7 0 0 0\n",
			after:  "cpu  150 0 4 1100 0 0 9 0 0 0\n",
			want:   map[string]float64{"user": 0.5, "irq": 0, "softirq": 0.02, "steal": 0, "idle": 1},
			gaps:   []Gap{{"system", "the machine's counter went backwards, from 18446744073709551610 to 4 ticks"}},
			busy:   -1,
		},
		{
			name:   "one CPU was unplugged and back: the sum hides it, its line does not",
			before: "cpu  100 0 50 5000 0 0 0 0 0 0\ncpu0 50 0 25 1000 0 0 0 0 0 0\ncpu1 50 0 25 4000 0 0 0 0 0 0\n",
			after:  "cpu  120 0 60 6500 0 0 0 0 0 0\ncpu0 60 0 30 6400 0 0 0 0 0 0\ncpu1 60 0 30 100 0 0 0 0 0 0\n",
			want:   map[string]float64{"user": 0.2, "system": 0.1, "irq": 0, "softirq": 0, "steal": 0},
			gaps:   []Gap{{"idle", "the counter of CPU 1 went backwards, from 4000 to 100 ticks"}},
			busy:   0.3,
		},
		{
			name:   "a CPU vanishes",
			before: "cpu  100 0 50 5000 0 0 0 0\ncpu0 50 0 25 1000 0 0 0 0\ncpu1 50 0 25 4000 0 0 0 0\ncpu2 0 0 0 1 0 0 0 0\n",
			after:  "cpu  120 0 60 5100 0 0 0 0\ncpu0 60 0 30 1100 0 0 0 0\n",
			gaps:   []Gap{{"", "CPU 1, 2 went offline within the window"}},
			busy:   -1,
		},
		{
			name:   "a CPU comes as another goes",
			before: "cpu  100 0 50 5000 0 0 0 0\ncpu0 50 0 25 1000 0 0 0 0\n",
			after:  "cpu  120 0 60 5100 0 0 0 0\ncpu3 60 0 30 1100 0 0 0 0\n",
			gaps:   []Gap{{"", "CPU 0 went offline and CPU 3 came online within the window"}},
			busy:   -1,
		},
		{
			name:   "a kernel without steal does not have none",
			before: "cpu 100 0 50 1000 0 0 7\n" + rest,
			after:  "cpu 150 0 50 1100 0 0 9\n" + rest,
			want:   map[string]float64{"user": 0.5, "system": 0, "irq": 0, "softirq": 0.02, "idle": 1},
			gaps:   []Gap{{"steal", "this kernel does not count it"}},
			busy:   0.52,
		},
		{
			name:   "a kernel of four columns",
			before: "cpu 100 0 50 1000\n",
			after:  "cpu 150 0 50 1100\n",
			want:   map[string]float64{"user": 0.5, "system": 0},
			gaps: []Gap{
				{"irq", "this kernel does not count it"}, {"softirq", "this kernel does not count it"},
				{"steal", "this kernel does not count it"}, {"idle", "this kernel does not count it"},
			},
			busy: -1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := procStat(t, tt.before)
			cpu := NewCPU(root)
			before := must.Get(cpu.Read())(t)
			place(t, root, map[string]string{"stat": tt.after})
			got, gaps := must.Get(cpu.Read())(t).Since(before)
			near := cmpopts.EquateApprox(0, 1e-9)
			must.Equal(t, tt.want, got, near)
			must.Equal(t, tt.gaps, gaps)
			full := make(map[string]float64)
			for name, v := range got {
				full["cpu_"+name] = v
			}
			busy, ok := busyOf(full)
			if !ok {
				busy = -1
			}
			must.Equal(t, tt.busy, busy, near)
		})
	}
}

func TestCPUReadRefuses(t *testing.T) {
	tests := []struct{ name, stat, want string }{
		{"empty", "", "no line for the whole machine"},
		{"no cpu lines", rest, "no line for the whole machine"},
		{"gVisor's zeros", "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n" + rest, "every counter is 0"},
		{"not a number", "cpu  1 2 x 4\n", `column 3 of "cpu  1 2 x 4\n"`},
		{"negative", "cpu  1 -2 3 4\n", "column 2"},
		{"odd name", "cpux 1 2 3 4\n", "number of CPU"},
		{"order", "cpu  1 2 3 4\ncpu1 1 2 3 4\ncpu1 1 2 3 4\n", "CPU 1 is listed after CPU 1"},
		{"falling", "cpu  1 2 3 4\ncpu1 1 2 3 4\ncpu0 1 2 3 4\n", "CPU 0 is listed after CPU 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := procStat(t, tt.stat)
			_, err := NewCPU(root).Read()
			must.Fail(t, err, tt.want)
			must.True(t, err == nil || strings.HasPrefix(err.Error(), "read CPU time from "+root), "error does not say what was attempted: %v", err)
		})
	}
	must.FailFor(t, "Read without a stat file", must.Err(NewCPU(t.TempDir()).Read()))
}

// TestCPUManyLines crosses every growth of the buffer.
func TestCPUManyLines(t *testing.T) {
	for _, n := range []int{1, 60, 200, 2000} {
		s := must.Get(NewCPU(procStat(t, bigStat(n))).Read())(t)
		must.Equal(t, n, len(s.(*cpuSample).cpus))
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n"), []byte("cpu  2 2 3 4\n"))
	f.Add([]byte("cpu  1 2 3 4\ncpu0 1\ncpu1 1\n"), []byte("cpu  1 2 3 4\ncpu0 1 2 3 4 5 6 7\ncpu1\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		before, errA := parseStat(a)
		after, errB := parseStat(b)
		if errA != nil || errB != nil {
			return
		}
		got, _ := after.Since(before)
		for name, v := range got {
			must.True(t, v >= 0, "%s is %g", name, v)
		}
	})
}

// TestCPUReadAllocatesLittle checks allocations as a measure of cost, because unlike time
// they are the same on every machine.
func TestCPUReadAllocatesLittle(t *testing.T) {
	cpu := NewCPU(procStat(t, bigStat(128)))
	allocs := testing.AllocsPerRun(20, func() {
		must.Get(cpu.Read())(t)
	})
	must.True(t, allocs <= 30, "a read makes %g allocations, want at most 30", allocs)
}

// busyOf sums the seconds in which CPUs worked: user, system, irq and softirq of this
// collector's metrics in a Session. Steal and idle are not work. It is false, and the sum
// unknown, if one of the four is absent.
func busyOf(figures map[string]float64) (float64, bool) {
	var sum float64
	for _, name := range []string{"cpu_user", "cpu_system", "cpu_irq", "cpu_softirq"} {
		v, ok := figures[name]
		if !ok {
			return 0, false
		}
		sum += v
	}
	return sum, true
}

// TestCPULive checks the kernel's counters against what is possible: no metric is negative,
// time passes, and the sum does not exceed every CPU for the whole window. The bound is
// twice that plus two seconds, so that neither a suspended machine nor a counter that
// catches up fails the test.
func TestCPULive(t *testing.T) {
	cpu := NewCPU("/proc")
	first, err := cpu.Read()
	if err != nil {
		testneed.Missing(t, testneed.Other, err)
	}
	cpus := len(first.(*cpuSample).cpus)
	if cpus == 0 {
		testneed.Missing(t, testneed.Other, "/proc/stat lists no single CPU")
	}
	watch := NewCollectorSet([]Collector{cpu})
	opened := time.Now()
	session := watch.Start()
	var all float64
	for all == 0 && time.Since(opened) < 20*time.Second {
		time.Sleep(50 * time.Millisecond)
		w := session.Stop()
		figures := w.Metrics
		for _, m := range w.Missing {
			t.Fatalf("what it cannot tell: %v", m)
		}
		all = 0
		for name, v := range figures {
			must.True(t, v >= 0, "%s is %g s", name, v)
			all += v
		}
		busy, ok := busyOf(figures)
		must.True(t, ok && busy <= all+1e-9, "busy is %g s (known: %t) of %g s", busy, ok, all)
	}
	limit := 2*time.Since(opened).Seconds()*float64(cpus) + 2
	must.True(t, all > 0 && all <= limit, "%d CPUs spent %g s, want more than 0 and at most %g", cpus, all, limit)
}

func bigStat(cpus int) string {
	var b strings.Builder
	b.WriteString("cpu  3206200 0 603200 1318480 115300 0 174000 286500 0 0\n")
	for i := range cpus {
		fmt.Fprintf(&b, "cpu%d 1532000 0 286300 67115000 18300 0 73000 15340 0 0\n", i)
	}
	b.WriteString("intr 656027" + strings.Repeat(" 0 1234", 1500) + "\n" + rest)
	return b.String()
}

func BenchmarkCPURead(b *testing.B) {
	big := NewCPU(procStat(b, bigStat(128)))
	for name, cpu := range map[string]CPU{"live": NewCPU("/proc"), "128_cpus": big} {
		b.Run(name, func(b *testing.B) {
			if _, err := cpu.Read(); err != nil {
				testneed.Missing(b, testneed.Other, err)
			}
			b.ReportAllocs()
			for b.Loop() {
				must.Get(cpu.Read())(b)
			}
		})
	}
}
