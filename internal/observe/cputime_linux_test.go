package observe

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// The spinner is a second process of this test that keeps one core busy for spinShare of
// the time, by its own CPU time.
const (
	spinnerEnv = "TARE_TEST_SPINNER"
	spinShare  = 0.3
	spinPeriod = 20 * time.Millisecond
)

func TestMain(m *testing.M) {
	if os.Getenv(spinnerEnv) != "" {
		spin()
	}
	os.Exit(m.Run())
}

// spin works for spinShare of each period, for at most a minute.
func spin() {
	runtime.LockOSThread()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		began, used := time.Now(), threadTime()
		for threadTime()-used < time.Duration(spinShare*float64(spinPeriod)) {
		}
		time.Sleep(spinPeriod - time.Since(began))
	}
	os.Exit(0)
}

func threadTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		os.Exit(1)
	}
	return time.Duration(ts.Nano())
}

// TestAloneBillOfKnownLoad compares the CPU cost with two complete accounts, under a known load:
// for the whole machine that of the root control group, to which the kernel charges every
// task to the nanosecond, including those that ended; and for the spinner the kernel's
// count of its CPU time. The CPU cost minus the account of everything except the spinner
// must be the spinner's CPU time, to a tenth of the cost, over 10 s. Both accounts cover the same
// seconds, but a CPU that serves interrupts while it is idle disturbs the comparison.
//
// If a hypervisor runs a halted CPU late, the wait counts as both idle and stolen time, and
// both are subtracted: the result for the spinner, which wakes up 50 times a second, may be
// too low by up to the steal of the window, but not more.
func TestAloneBillOfKnownLoad(t *testing.T) {
	testneed.NotShort(t)
	everything, err := rootAccount()
	if err != nil {
		testneed.Missing(t, testneed.Other, fmt.Errorf("with an account of all tasks: %w", err))
	}
	cpu := NewCPU("/proc")
	spinner := exec.Command(must.Get(os.Executable())(t), "-test.run=^$")
	spinner.Env = append(os.Environ(), spinnerEnv+"=1")
	must.Do(t, spinner.Start())
	defer func() { _ = spinner.Process.Kill(); _ = spinner.Wait() }()
	from := readAll(t, cpu, everything, spinner.Process.Pid)
	time.Sleep(10 * time.Second)
	to := readAll(t, cpu, everything, spinner.Process.Pid)
	var s CPUTime
	s.Add(from.cpu, to.cpu)
	busy := must.Get(s.Busy())(t)
	all, own, stolen := (to.all - from.all).Seconds(), (to.own - from.own).Seconds(), s.Metrics()["cpu_steal"]
	charged := busy - (all - own) // the spinner's, by the CPU cost
	fmt.Printf("the CPU cost is %.4g CPU s, all tasks together used %.4g; the spinner used %.4g and is charged %.4g (%+.1f %%); stolen were %.4g\n",
		busy, all, own, charged, 100*(charged/own-1), stolen)
	within := 0.1 * busy
	must.True(t, own > 0 && charged <= own+within && charged+stolen >= own-within, "the spinner is charged %.4g CPU s, of %.4g", charged, own)
}

// reading3 is the machine's CPU time with the time of all tasks and of one.
type reading3 struct {
	cpu      Sample
	all, own time.Duration
}

// readAll reads the three as close together as it can.
func readAll(t *testing.T, cpu CPU, everything string, pid int) (best reading3) {
	t.Helper()
	shortest := time.Hour
	for range 20 {
		began := time.Now()
		own := runTimeOf(t, pid)
		all := number(t, everything)
		s := must.Get(cpu.Read())(t)
		if took := time.Since(began); took < shortest {
			best, shortest = reading3{s, all, own}, took
		}
	}
	return best
}

// rootAccount finds where the kernel tells the time of all tasks: the root of the
// control groups of version 1, which holds the kernel's own threads too. That of
// version 2 is made of the same sampled ticks as /proc/stat, and would prove nothing.
func rootAccount() (string, error) {
	const root = "/sys/fs/cgroup/cpuacct/"
	procs, err := os.ReadFile(root + "cgroup.procs")
	if err != nil {
		return "", err
	}
	name, err := os.ReadFile("/proc/2/comm")
	if err != nil || strings.TrimSpace(string(name)) != "kthreadd" || !bytes.Contains(append([]byte("\n"), procs...), []byte("\n2\n")) {
		return "", fmt.Errorf("%s is not the root of all control groups", root)
	}
	return root + "cpuacct.usage", nil
}

func number(t *testing.T, path string) time.Duration {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return time.Duration(must.Get(strconv.ParseInt(strings.Fields(string(text))[0], 10, 64))(t))
}

// runTimeOf is how long the threads of a process have run.
func runTimeOf(t *testing.T, pid int) (sum time.Duration) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/task", pid)
	threads := must.Get(os.ReadDir(dir))(t)
	for _, th := range threads {
		sum += number(t, dir+"/"+th.Name()+"/schedstat")
	}
	return sum
}
