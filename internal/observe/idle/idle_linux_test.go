package idle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sysfs creates a sysfs in which CPUs have two states of cpuidle, with the given times.
func sysfs(t *testing.T, times map[int][2]string) string {
	t.Helper()
	root := t.TempDir()
	for cpu, states := range times {
		for i, text := range states {
			dir := filepath.Join(root, fmt.Sprintf("devices/system/cpu/cpu%d/cpuidle/state%d", cpu, i))
			must.Do(t, os.MkdirAll(dir, 0o700))
			must.Do(t, os.WriteFile(filepath.Join(dir, "time"), []byte(text), 0o600))
		}
	}
	return root
}

// usable returns a CPU on which this test may run.
func usable(t *testing.T) int {
	t.Helper()
	var set unix.CPUSet
	must.Do(t, unix.SchedGetaffinity(0, &set))
	for cpu := range 1 << 10 {
		if set.IsSet(cpu) {
			return cpu
		}
	}
	t.Fatal("this test may run on no CPU")
	return 0
}

// open opens a reader until the test ends.
func open(t *testing.T, root string) *Reader {
	t.Helper()
	r := must.Get(Open(root))(t)
	t.Cleanup(r.Close)
	return r
}

// readUntil reads until a CPU that other programs keep busy has answered, too.
func readUntil(t *testing.T, r *Reader, cpus int) []Reading {
	t.Helper()
	for t.Context().Err() == nil {
		if got := r.Read(); len(got) >= cpus {
			return got
		}
	}
	t.Fatal("the test has ended")
	return nil
}

// The states of a CPU are added up, and a CPU on which no thread can run is left out.
func TestRead(t *testing.T) {
	cpu := usable(t)
	r := open(t, sysfs(t, map[int][2]string{cpu: {"1500\n", "2000000\n"}, 1 << 9: {"1\n", "1\n"}}))
	for range 3 {
		before := time.Now()
		got := readUntil(t, r, 1)
		after := time.Now()
		must.Require(t, len(got) == 1 && got[0].CPU == cpu && got[0].Idle == 2001500*time.Microsecond, "got %+v", got)
		if at := got[0]; at.From.Before(before) || at.To.Before(at.From) || after.Before(at.To) {
			t.Errorf("read from %s to %s, between %s and %s", at.From, at.To, before, after)
		}
	}
}

func TestReadNumber(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]int64{"0\n": 0, "123456789\n": 123456789, "7": 7, "": -1, "-1\n": -1, "x\n": -1, "9223372036854775807\n": -1, "99999999999999999999999999\n": -1} {
		file := filepath.Join(dir, "time")
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		got, ok := readNumber(file, make([]byte, 32))
		must.True(t, ok == (want >= 0) && (!ok || got == want), "%q: %d, %t", text, got, ok)
	}
	_, ok := readNumber(filepath.Join(dir, "none"), make([]byte, 32))
	must.True(t, !ok, "a file that does not exist has a number")
}

func TestOpenRefuses(t *testing.T) {
	many := map[int][2]string{}
	for cpu := range maxCPUs + 1 {
		many[cpu] = [2]string{"1", "1"}
	}
	for what, root := range map[string]string{
		"no cpuidle": t.TempDir(), "too many CPUs": sysfs(t, many), "no CPU of this machine": sysfs(t, map[int][2]string{1 << 9: {"1", "1"}}),
	} {
		_, err := Open(root)
		must.True(t, errors.Is(err, ErrNone), "%s: %v", what, err)
	}
	var none *Reader
	got := none.Read()
	must.True(t, got == nil, "without a reader: %+v", got)
	none.Close()
}

// On this machine, a CPU is idle for no longer than the time between two readings.
func TestReadLive(t *testing.T) {
	r, err := Open("/sys")
	if errors.Is(err, ErrNone) {
		testneed.Missing(t, testneed.Other, err)
	}
	must.Do(t, err)
	t.Cleanup(r.Close)
	from := readUntil(t, r, 1)
	time.Sleep(50 * time.Millisecond)
	to := readUntil(t, r, 1)
	for _, b := range to {
		for _, a := range from {
			if a.CPU != b.CPU {
				continue
			}
			idle, long := b.Idle-a.Idle, b.To.Sub(a.From)
			must.True(t, idle >= 0 && idle <= long+100*time.Microsecond, "CPU %d was idle for %s of %s", a.CPU, idle, long)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	r, err := Open("/sys")
	if err != nil {
		testneed.Missing(b, testneed.Other, err)
	}
	defer r.Close()
	var reading time.Duration
	n := 0
	for ; b.Loop(); n++ {
		time.Sleep(time.Millisecond) // the CPUs become idle
		began := time.Now()
		r.Read()
		reading += time.Since(began)
	}
	b.ReportMetric(float64(reading.Nanoseconds())/float64(n), "ns/reading")
}
