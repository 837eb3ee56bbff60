package tool

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// gone waits until a process has exited or is a zombie.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(timelimit.Scaled(30 * time.Second)); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(text), ") Z ") {
			return
		}
	}
	t.Errorf("process %d still runs", pid)
}

// pids waits for the n processes that have written their id.
func pids(t *testing.T, at string, n int) []int {
	t.Helper()
	for deadline := time.Now().Add(timelimit.Scaled(30 * time.Second)); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		names := must.Get(filepath.Glob(at + ".*"))(t)
		if len(names) < n {
			continue
		}
		var out []int
		for _, name := range names {
			out = append(out, must.Get(strconv.Atoi(strings.TrimPrefix(filepath.Ext(name), ".")))(t))
		}
		return out
	}
	t.Fatalf("%d processes did not start", n)
	return nil
}

// The end of a trial kills the tool's children as well.
func TestGroupEnds(t *testing.T) {
	fakes(t, "family", "")
	at := filepath.Join(t.TempDir(), "pid")
	t.Setenv(fakePID, at)
	path := must.Get(exec.LookPath("iperf3"))(t)
	p := must.Get(start(-1, nil, path, []string{"-c", "127.0.0.1"}))(t)
	both := pids(t, at, 2)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	must.Fail(t, must.Err(p.wait(ctx)), "enough")
	for _, pid := range both {
		gone(t, pid)
	}
}

// A tool does not outlive the process that started it, however that exits.
func TestEndsWithParent(t *testing.T) {
	if at := os.Getenv("TARE_TEST_PARENT"); at != "" {
		path := must.Get(exec.LookPath("iperf3"))(t)
		must.Get(start(-1, nil, path, []string{"-c", "127.0.0.1"}))(t)
		time.Sleep(time.Hour) // until killed
		return
	}
	fakes(t, "hang", "")
	at := filepath.Join(t.TempDir(), "pid")
	t.Setenv(fakePID, at)
	parent := exec.Command(must.Get(os.Executable())(t), "-test.run", "TestEndsWithParent$")
	parent.Env = append(os.Environ(), "TARE_TEST_PARENT="+at)
	must.Do(t, parent.Start())
	children := pids(t, at, 1)
	must.Do(t, parent.Process.Signal(syscall.SIGKILL))
	_ = parent.Wait() // killed
	for _, pid := range children {
		gone(t, pid)
	}
}

// A trial that ends in the middle, even by kill -9, leaves no file.
func TestLeavesNoFile(t *testing.T) {
	if name := os.Getenv("TARE_TEST_TRIAL"); name != "" {
		p := fakeParams(name)
		p.Address, p.Duration = "127.0.0.1:5301", time.Hour
		w, err := For(p)
		must.Do(t, err)
		_, err = w.Dial(t.Context(), p, nil) // until killed
		t.Fatal(err)
	}
	self := must.Get(os.Executable())(t)
	for name, banner := range map[string]string{iperf3Name: "iperf 3.12 (cJSON 1.7.15)", ntttcpName: "NTTTCP for Linux 1.4.3"} {
		t.Run(name, func(t *testing.T) {
			fakes(t, "hang", "")
			t.Setenv(fakeVersion, banner)
			at := filepath.Join(t.TempDir(), "pid")
			t.Setenv(fakePID, at)
			t.Setenv("TMPDIR", t.TempDir())
			trial := exec.Command(self, "-test.run", "TestLeavesNoFile$")
			trial.Env = append(os.Environ(), "TARE_TEST_TRIAL="+name)
			must.Do(t, trial.Start())
			children := pids(t, at, 1)
			must.Do(t, trial.Process.Kill())
			_ = trial.Wait() // killed
			for _, pid := range children {
				gone(t, pid)
			}
			if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

// A pinned tool runs only on its CPU, and the threads of this process are not pinned.
func TestPinned(t *testing.T) {
	var free unix.CPUSet
	must.Do(t, unix.SchedGetaffinity(0, &free))
	cpu := 0
	for !free.IsSet(cpu) {
		cpu++
	}
	fakes(t, "nothing", "")
	at := filepath.Join(t.TempDir(), "status")
	t.Setenv(fakePID, at)
	path := must.Get(exec.LookPath("iperf3"))(t)
	p := must.Get(start(cpu, nil, path, []string{"-c", "127.0.0.1"}))(t)
	must.Get(p.wait(t.Context()))(t)
	names, err := filepath.Glob(at + ".*")
	must.Require(t, err == nil && len(names) == 1, "%v, %v", names, err)
	status := must.Get(os.ReadFile(names[0]))(t)
	if want := "Cpus_allowed_list:\t" + strconv.Itoa(cpu) + "\n"; !strings.Contains(string(status), want) {
		t.Errorf("the tool's status lacks %q", want)
	}
	var now unix.CPUSet
	if err := unix.SchedGetaffinity(0, &now); err != nil || now != free {
		t.Errorf("this process may now use %v, before %v (%v)", now, free, err)
	}
}

// Files as the kernel writes them.
func TestKernelFiles(t *testing.T) {
	got := parseSNMP([]byte("IpExt: InOctets OutOctets\nIpExt: 5 7\nTcp: MaxConn OutSegs\nTcp: -1 9\nshort\n"))
	must.True(t, got["IpExt.OutOctets"] == 7 && got["Tcp.OutSegs"] == 9, "read %v", got)
	s, err := parseSocket("   0: 0100007F:14B5 00000000:0000 0A 00000001:00000000 00:00000000 00000000     0")
	must.True(t, err == nil && s.local == 5301 && s.state == stateListen && s.unsent == 1, "read %+v, %v", s, err)
	for _, bad := range []string{"", "sl local_address rem_address st tx_queue", "0: x:y c:d e f"} {
		if _, err := parseSocket(bad); err == nil {
			t.Errorf("%q is accepted as a socket", bad)
		}
	}
	if now := readKernel(); !now.known || now.octets == 0 {
		t.Errorf("read %+v", now)
	}
}
