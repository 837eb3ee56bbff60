//go:build linux

package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/runid"
	"tare/internal/store"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
)

// program is tare in a process of its own.
type program struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

// start runs tare with args in dir.
func start(t *testing.T, dir string, args ...string) *program {
	t.Helper()
	return startAs(t, nil, dir, args...)
}

// startAs does so as another user, with a copy of the binary that it may read.
func startAs(t *testing.T, attr *syscall.SysProcAttr, dir string, args ...string) *program {
	t.Helper()
	p := prepared(dir, args...)
	if attr != nil {
		p.cmd.Path = copySelf(t, dir)
	}
	p.cmd.SysProcAttr = attr
	p.begin(t)
	return p
}

// prepared is tare with args in dir, not started.
func prepared(dir string, args ...string) *program {
	p := &program{cmd: exec.Command("/proc/self/exe", args...)}
	p.cmd.Args[0] = "tare"
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	return p
}

func (p *program) begin(t *testing.T) {
	t.Helper()
	must.Do(t, p.cmd.Start())
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
}

// copySelf copies the test program to a directory, once: the kernel lets nobody write to a program while something holds a process that executes it,
// which may be for some time after its end.
func copySelf(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "tare-copy")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	in := must.Get(os.Open("/proc/self/exe"))(t)
	defer in.Close()
	// A program that is forked meanwhile has the file open for writing until it is executed: the copy would be busy.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out := must.Get(os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755))(t)
	must.Get(io.Copy(out, in))(t)
	must.Do(t, out.Close())
	return path
}

// ends stops the test unless the program ends with that exit code.
func (p *program) ends(t *testing.T, want int) {
	t.Helper()
	if code := p.wait(t); code != want {
		t.Fatalf("exit code %d, want %d\n%s", code, want, p.stderr.String())
	}
}

// wait waits for the end and gives the exit code.
func (p *program) wait(t *testing.T) int {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.cmd.Wait() // the exit code says it
	}()
	select {
	case <-done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(timelimit.Scaled(2 * time.Minute)):
		_ = p.cmd.Process.Signal(syscall.SIGABRT) // it prints its goroutines
		<-done
		t.Fatalf("tare did not end:\n%s", p.stderr.String())
		return 0
	}
}

// until waits for cond, for as long as a stuck program may take.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timelimit.Scaled(30 * time.Second)); !cond(); time.Sleep(20 * time.Millisecond) {
		must.Require(t, !time.Now().After(deadline), "waited in vain for %s", what)
	}
}

// trialsIn counts the valid trials of a run's directory.
func trialsIn(dir string) int {
	data, err := os.ReadFile(filepath.Join(dir, store.TrialsFile))
	if err != nil {
		return 0
	}
	return bytes.Count(data, []byte(`"status":"ok"`))
}

func readRun(t *testing.T, dir string) result.Run {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join(dir, store.RunFile)))(t)
	var run result.Run
	must.Do(t, json.Unmarshal(data, &run))
	return run
}

// longStudy would run for minutes. Its traffic has a rate: what these tests are about needs traffic, not all of a CPU.
const longStudy = `name: long
blocks: 20
settle: 10ms
modes: [host, netns/bridge]
invalid: {steal: off, others: off, cpu_wait: off, unsettled: off, most: off}
workloads:
  - {workload: tcp_stream, rate: 200Mbit/s, write_size: 16KiB, warmup: 50ms, duration: 500ms}
  - {workload: tcp_rr, transaction_rate: 500, request_size: 32KiB, response_size: 32KiB, warmup: 50ms, duration: 500ms}
`

// shortStudy is longStudy with two blocks of shorter trials.
func shortStudy() string {
	return strings.NewReplacer("blocks: 20", "blocks: 2", "duration: 500ms", "duration: 200ms").Replace(longStudy)
}

// studyIn writes a study into a directory that everybody may enter.
func studyIn(t *testing.T, text string) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("", "tare-test-"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must.Do(t, os.Chmod(dir, 0o777))
	must.Do(t, os.WriteFile(filepath.Join(dir, "study.yaml"), []byte(text), 0o644))
	return dir
}

func needLab(t *testing.T) {
	t.Helper()
	testneed.NotShort(t)
	if !canMakeLabs() {
		testneed.Missing(t, testneed.Labs, "neither root nor unprivileged user namespaces")
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	needLab(t)
	if !linuxnet.RealRoot() {
		testneed.Missing(t, testneed.Root, "this is an ordinary user")
	}
}

// agents lists the processes of a run's agents.
func agents(id string) []int {
	return processes(func(args []string, _ int) bool { return len(args) > 3 && args[1] == "agent" && args[3] == id })
}

// descendants lists the tare processes below a process.
func descendants(pid int) []int {
	below := map[int]bool{pid: true}
	found := processes(func(_ []string, pid int) bool {
		for p := parent(pid); p > 1; p = parent(p) {
			if below[p] {
				return true
			}
		}
		return false
	})
	return found
}

// processes lists the tare processes that pick accepts.
func processes(pick func(args []string, pid int) bool) []int {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var pids []int
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		args := strings.Split(string(line), "\x00")
		if pid := atoi(filepath.Base(dir)); err == nil && args[0] == "tare" && pick(args, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// parent reads a process's parent, 0 if it is gone.
func parent(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	return atoi(fields[1])
}

// gone reports whether none of these processes is left. A zombie has ended: it
// only waits for its parent to look.
func gone(pids []int) bool {
	return !slices.ContainsFunc(pids, func(pid int) bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(stat), ") ")
		return err == nil && !strings.HasPrefix(rest, "Z")
	})
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}

// left names what is still there of a run: processes, namespaces, its claim.
func left(t *testing.T, id string) []string {
	t.Helper()
	var found []string
	if len(agents(id)) > 0 {
		found = append(found, "agents")
	}
	names, err := linuxnet.Pinned(lab.Prefix + id)
	must.Require(t, err == nil || errors.Is(err, fs.ErrNotExist), "%v", err)
	found = append(found, names...)
	ids := must.Get(runid.Running())(t)
	if slices.Contains(ids, id) {
		found = append(found, "claim")
	}
	return found
}

// hostState is what the machine itself must look like before and after.
func hostState(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	for _, args := range [][]string{{"ip", "-br", "link"}, {"ip", "-br", "address"}, {"ip", "route"}, {"ip", "netns"}, {"nft", "list", "ruleset"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, text)
		}
		for line := range strings.Lines(string(text)) {
			// Labs come and go beside this test, of other tests and of a user's runs. Of
			// what the test's own run leaves, left tells.
			if !strings.HasPrefix(line, lab.Prefix) {
				out.WriteString(line)
			}
		}
	}
	return out.String()
}
