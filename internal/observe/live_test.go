package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestCPULive checks the kernel's own counters against what is possible: no
// figure is negative, time passes, and together they are not more than every CPU
// for the whole window. The bound is twice that and two seconds, so that neither
// a machine that was paused nor a counter that catches up decides the test.
func TestCPULive(t *testing.T) {
	cpu := NewCPU("/proc")
	first, err := cpu.Read()
	if err != nil {
		t.Skipf("needs CPU counters: %v", err)
	}
	cpus := len(first.(*cpuSample).cpus)
	if cpus == 0 {
		t.Skip("needs CPU counters: /proc/stat lists no single CPU")
	}
	watch := NewWatch([]Collector{cpu})
	opened := time.Now()
	session := watch.Start()
	var all float64
	for all == 0 && time.Since(opened) < 20*time.Second {
		time.Sleep(50 * time.Millisecond)
		w := session.Stop()
		figures := w.Figures
		for _, m := range w.Missing {
			t.Skipf("needs a quiet set of CPUs: %v", m)
		}
		all = 0
		for name, v := range figures {
			if v < 0 {
				t.Errorf("%s is %g s", name, v)
			}
			all += v
		}
		busy, ok := busyOf(figures)
		if !ok || busy > all+1e-9 {
			t.Errorf("busy is %g s (known: %t) of %g s", busy, ok, all)
		}
	}
	limit := 2*time.Since(opened).Seconds()*float64(cpus) + 2
	if all <= 0 || all > limit {
		t.Errorf("%d CPUs spent %g s, want more than 0 and at most %g", cpus, all, limit)
	}
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
				b.Skip(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cpu.Read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
