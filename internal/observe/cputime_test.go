package observe

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/testkit/must"
)

// stat2 is /proc/stat of two CPUs: ticks of user, system, idle, softirq and steal of
// the whole machine, of which the first CPU has all but idle.
func stat2(user, system, idle, softirq, steal int) string {
	return fmt.Sprintf("cpu  %d 0 %d %d 0 0 %d %d 0 0\ncpu0 %d 0 %d 0 0 0 %d %d 0 0\ncpu1 0 0 0 %d 0 0 0 0 0 0\nintr 1 2 3\n",
		user, system, idle, softirq, steal, user, system, softirq, steal, idle)
}

// at is a sample of that at so many milliseconds.
func at(t *testing.T, ms int, stat string) Sample {
	t.Helper()
	head, whole := cpuHead([]byte(stat))
	if !whole {
		head = []byte(stat)
	}
	s := must.Get(parseStat(head))(t)
	s.at = time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond)
	return s
}

var nearly = cmpopts.EquateApprox(0, 1e-9)

// Two modes take turns: each is charged for its own windows, and time between them for
// neither. The tick sampled only 30 of the 60 ms that the machine worked for the first; idle
// time is exact.
func TestCPUTimeInTurns(t *testing.T) {
	var first, second CPUTime
	first.Add(at(t, 0, stat2(100, 100, 1000, 100, 7)), at(t, 50, stat2(101, 101, 1007, 101, 7)))
	second.Add(at(t, 50, stat2(101, 101, 1007, 101, 7)), at(t, 100, stat2(101, 101, 1015, 101, 9)))
	first.Add(at(t, 900, stat2(500, 101, 1020, 101, 9)), at(t, 950, stat2(500, 101, 1027, 101, 9)))
	for name, c := range map[string]struct {
		got  CPUTime
		want map[string]float64
	}{
		"first": {first, map[string]float64{"cpu_user": 0.01, "cpu_system": 0.01, "cpu_irq": 0, "cpu_softirq": 0.01,
			"cpu_steal": 0, "cpu_idle": 0.14, "cpu_busy": 0.06, "cpu_time": 0.1}},
		"second": {second, map[string]float64{"cpu_user": 0, "cpu_system": 0, "cpu_irq": 0, "cpu_softirq": 0,
			"cpu_steal": 0.02, "cpu_idle": 0.08, "cpu_busy": 0, "cpu_time": 0.05}},
		"both": {first.Plus(second), map[string]float64{"cpu_user": 0.01, "cpu_system": 0.01, "cpu_irq": 0, "cpu_softirq": 0.01,
			"cpu_steal": 0.02, "cpu_idle": 0.22, "cpu_busy": 0.06, "cpu_time": 0.15}},
		"none": {CPUTime{}, map[string]float64{}},
	} {
		must.EqualFor(t, name, c.want, c.got.Metrics(), nearly)
	}
	must.FailFor(t, "without a window, how busy the machine was is known", must.Err((CPUTime{}).Busy()))
}

// The steps of idle time cancel where windows follow each other.
func TestCPUTimeStepsCancel(t *testing.T) {
	var whole CPUTime
	before := at(t, 0, stat2(0, 1, 0, 0, 0))
	for ms := 7; ms <= 7000; ms += 7 {
		now := at(t, ms, stat2(0, 1, ms/10, 0, 0)) // one CPU idle all the time, told in whole ticks
		whole.Add(before, now)
		before = now
	}
	busy, err := whole.Busy()
	must.True(t, err == nil && math.Abs(busy-7) <= 0.011, "busy %g (%v), want 7: one CPU of two for 7 s", busy, err)
	got := whole.Resolution()
	must.True(t, math.Abs(got-0.387) <= 0.001, "resolution of 1000 windows is %g", got)
}

// withIdle adds exact idle times to a sample of stat2, one for each CPU. Each was read for 10 us,
// beginning at the sample's moment.
func withIdle(s Sample, idle ...time.Duration) Sample {
	for i, d := range idle {
		s.(*cpuSample).cpus[i].exact = &ExactIdle{Idle: d, To: 10 * time.Microsecond}
	}
	return s
}

// Exact idle times replace the steps of 10 ms, and count from the end of one reading to the
// beginning of the next.
func TestCPUTimeExact(t *testing.T) {
	const us = time.Microsecond
	var got CPUTime
	for range 2 {
		got.Add(withIdle(at(t, 0, stat2(0, 0, 100, 0, 0)), 0, 500*us), withIdle(at(t, 20, stat2(1, 1, 102, 0, 0)), 4000*us, 18500*us))
	}
	want := map[string]float64{"cpu_user": 0.02, "cpu_system": 0.02, "cpu_irq": 0, "cpu_softirq": 0, "cpu_steal": 0,
		"cpu_idle": 0.044, "cpu_busy": 2 * (2*0.01999 - 0.022), "cpu_time": 2 * 0.01999}
	must.Equal(t, want, got.Metrics(), nearly)
	r := got.Resolution()
	must.True(t, math.Abs(r-3*50e-6*2) <= 1e-9, "resolution %g", r)
	share, known := got.BusiestCPU()
	must.True(t, known && math.Abs(share-(1-0.004/0.01999)) <= 1e-9, "busiest CPU %g, %t", share, known)

	// A CPU that could not be read exactly once has its steps: here CPU 1, idle for 20 of 20 ms.
	got.Add(withIdle(at(t, 0, stat2(0, 0, 100, 0, 0)), 0), withIdle(at(t, 20, stat2(1, 1, 102, 0, 0)), 4000*us, 18500*us))
	idle := got.Metrics()["cpu_idle"]
	must.True(t, math.Abs(idle-(0.044+0.004+0.02)) <= 1e-9, "idle %g with a CPU in steps", idle)
	if r, least := got.Resolution(), edgeError(1); r < least || r > 1.1*least {
		t.Errorf("resolution %g with a CPU in steps, want about %g", r, least)
	}
}

// A CPU that does not become idle through cpuidle has no exact idle time. It must not seem busy.
func TestCPUTimeDisagrees(t *testing.T) {
	var got CPUTime
	got.Add(withIdle(at(t, 0, stat2(0, 0, 100, 0, 0)), 0, 0), withIdle(at(t, 1000, stat2(100, 0, 200, 0, 0)), 0, 0))
	busy, err := got.Busy()
	must.True(t, err == nil && math.Abs(busy-1) <= 0.001, "busy %g, %v; want 1: CPU 0 all the time, CPU 1 never", busy, err)
	r := got.Resolution()
	must.True(t, r >= 0.01, "resolution %g", r)
	if got = got.Plus(got); got.Metrics()["cpu_idle"] != 2 {
		t.Errorf("twice: %v", got.Metrics())
	}
}

// What a window lacks is unknown of all of them, and nothing becomes 0.
func TestCPUTimeGaps(t *testing.T) {
	good := [2]Sample{at(t, 0, stat2(1, 1, 10, 1, 0)), at(t, 100, stat2(2, 2, 28, 2, 0))}
	every := []string{"cpu_busy", "cpu_idle", "cpu_irq", "cpu_softirq", "cpu_steal", "cpu_system", "cpu_time", "cpu_user"}
	for _, c := range []struct {
		name     string
		from, to Sample
		known    []string
		err      string // of Busy
	}{
		{"good", good[0], good[1], every, ""},
		{"idle runs back by a tick, as the kernel reads it", at(t, 0, stat2(1, 1, 10, 1, 0)), at(t, 10, stat2(2, 1, 9, 1, 0)), every, ""},
		{"idle runs back by more", at(t, 0, stat2(1, 1, 10, 1, 0)), at(t, 10, stat2(2, 1, 8, 1, 0)),
			[]string{"cpu_irq", "cpu_softirq", "cpu_steal", "cpu_system", "cpu_time", "cpu_user"}, "went backwards"},
		{"no sample", good[0], nil, nil, "could not be read"},
		{"a sample of something else", good[0], clockSample{}, nil, "could not be read"},
		{"a CPU went", good[0], at(t, 10, "cpu  9 0 9 9 0 0 0 0 0 0\ncpu0 9 0 9 9 0 0 0 0 0 0\n"), nil, "CPU 1 went offline"},
		{"no individual CPUs", at(t, 0, "cpu  9 0 9 9 0 0 0 0\n"), at(t, 10, "cpu  9 0 9 9 0 0 0 0\n"), nil, "no individual CPUs"},
		{"a kernel without steal has none to take off", at(t, 0, "cpu  9 0 9 9 0 0 0\ncpu0 9 0 9 9 0 0 0\n"), at(t, 10, "cpu  9 0 9 10 0 0 0\ncpu0 9 0 9 10 0 0 0\n"),
			[]string{"cpu_busy", "cpu_idle", "cpu_irq", "cpu_softirq", "cpu_system", "cpu_time", "cpu_user"}, ""},
		{"a kernel that tells no idle time", at(t, 0, "cpu  9 0 9\ncpu0 9 0 9\n"), at(t, 10, "cpu  9 0 9\ncpu0 9 0 9\n"),
			[]string{"cpu_system", "cpu_time", "cpu_user"}, "idle time is unknown: this kernel does not count it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s CPUTime
			s.Add(c.from, c.to)
			s = s.Plus(CPUTime{})
			if c.name != "no individual CPUs" && c.name != "a CPU went" && !strings.HasPrefix(c.name, "a kernel") {
				s.Add(good[0], good[1])
			}
			must.Equal(t, c.known, sortedKeys(s.Metrics()), cmpopts.EquateEmpty())
			_, err := s.Busy()
			must.True(t, (err == nil) == (c.err == "") && (err == nil || strings.Contains(err.Error(), c.err)), "%v, want %q", err, c.err)
		})
	}
}

// Times that were read in another process give the same sample, and times that cannot be are an error.
func TestTimesOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	stat := "cpu  7 1 5 90 2 1 4\ncpu0 4 1 3 40 1 1 2\ncpu2 3 0 2 50 1 0 2\nintr 1\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600))
	times, _ := must.Get2(NewCPU(dir).ReadTimes())(t)
	times.CPUs[1].Exact = &ExactIdle{Idle: time.Hour, From: -time.Millisecond, To: time.Microsecond}
	line := must.Get(json.Marshal(times))(t)
	var got CPUTimes
	must.Do(t, json.Unmarshal(line, &got))
	s := must.Get(got.Sample(time.Unix(1, 0)))(t)
	want := at(t, 1000, stat)
	want.(*cpuSample).cpus[1].exact = times.CPUs[1].Exact
	must.Equal(t, want, s, cmp.AllowUnexported(cpuSample{}, cpuLine{}))
	for what, bad := range map[string]CPUTimes{
		"nothing":            {},
		"no time":            {Machine: []uint64{0, 0, 0, 0}},
		"too many kinds":     {Machine: make([]uint64, columns+1)},
		"a CPU twice":        {Machine: []uint64{1}, CPUs: []CPUCounts{{ID: 1, Ticks: []uint64{1}}, {ID: 1, Ticks: []uint64{1}}}},
		"a CPU below 0":      {Machine: []uint64{1}, CPUs: []CPUCounts{{ID: -1, Ticks: []uint64{1}}}},
		"idle below 0":       {Machine: []uint64{1}, CPUs: []CPUCounts{{Ticks: []uint64{1}, Exact: &ExactIdle{Idle: -1}}}},
		"read backwards":     {Machine: []uint64{1}, CPUs: []CPUCounts{{Ticks: []uint64{1}, Exact: &ExactIdle{From: 1}}}},
		"read an hour ago":   {Machine: []uint64{1}, CPUs: []CPUCounts{{Ticks: []uint64{1}, Exact: &ExactIdle{From: -time.Hour}}}},
		"a CPU of all kinds": {Machine: []uint64{1}, CPUs: []CPUCounts{{Ticks: make([]uint64, columns+1)}}},
	} {
		must.FailFor(t, what+" is taken for CPU time", must.Err(bad.Sample(time.Now())))
	}
}

// The fullest CPU is the one with the least idle time over all windows together, and
// unknown where a CPU's idle time is.
func TestFullest(t *testing.T) {
	// CPU 0 has no idle time at all, CPU 1 what the machine has.
	var one, other CPUTime
	one.Add(at(t, 0, stat2(100, 100, 1000, 100, 7)), at(t, 500, stat2(125, 125, 1050, 100, 7)))
	share, known := one.BusiestCPU()
	must.True(t, known && share == 1, "a full CPU: %g, %t", share, known)
	idle := func(ticks0, ticks1 string) string {
		return "cpu  9 0 0 9 0 0 0 0 0 0\ncpu0 9 0 0 " + ticks0 + " 0 0 0 0 0 0\ncpu1 9 0 0 " + ticks1 + " 0 0 0 0 0 0\nintr 1\n"
	}
	other.Add(at(t, 0, idle("100", "100")), at(t, 1000, idle("150", "190")))
	if share, known := other.BusiestCPU(); !known || math.Abs(share-0.5) > 1e-9 {
		t.Errorf("a half full CPU: %g, %t", share, known)
	}
	both := one.Plus(other)
	if share, known := both.BusiestCPU(); !known || math.Abs(share-(1-0.5/1.5)) > 1e-9 {
		t.Errorf("both together: %g, %t", share, known)
	}
	other.Add(at(t, 1000, idle("150", "190")), at(t, 2000, idle("140", "290")))
	for what, s := range map[string]CPUTime{"none": {}, "backwards": other, "with an unknown one": one.Plus(other)} {
		share, known := s.BusiestCPU()
		must.True(t, !known, "%s: %g is known", what, share)
	}
	var lost CPUTime
	lost.Add(nil, nil)
	if _, known := lost.BusiestCPU(); known {
		t.Error("not read, and known")
	}
}
