package cli_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
	"tare/internal/testkit/synthetic"
)

// tareIn returns a command that runs tare in a directory.
func tareIn(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0], cmd.Dir = "tare", dir
	return cmd
}

// ended waits for the end of a command and returns its exit code.
func ended(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	until(t, "the end of tare", func() bool { return len(done) == 1 })
	return cmd.ProcessState.ExitCode()
}

// However a run is told to end, it ends in order: nothing of it is left, what was measured can be
// read, and no trace of goroutines is printed.
func TestEndsInOrder(t *testing.T) {
	t.Parallel()
	needRoot(t) // as an ordinary user nothing can be left: the namespaces have no names
	signalled := func(sig syscall.Signal) func(*testing.T, *exec.Cmd, func() bool) string {
		return func(t *testing.T, cmd *exec.Cmd, measuring func() bool) string {
			var words strings.Builder
			cmd.Stderr = &words
			must.Do(t, cmd.Start())
			until(t, "a trial", measuring)
			must.Do(t, cmd.Process.Signal(sig))
			must.Equal(t, 130, ended(t, cmd))
			return words.String()
		}
	}
	for name, end := range map[string]func(*testing.T, *exec.Cmd, func() bool) string{
		"SIGTERM": signalled(syscall.SIGTERM),
		"SIGHUP":  signalled(syscall.SIGHUP),
		"SIGQUIT": signalled(syscall.SIGQUIT),
		"nobody reads stderr": func(t *testing.T, cmd *exec.Cmd, measuring func() bool) string {
			r, w, err := os.Pipe()
			must.Do(t, err)
			cmd.Stderr = w
			err = cmd.Start()
			w.Close()
			must.Do(t, err)
			// As head -1 does.
			line, err := bufio.NewReader(r).ReadString('\n')
			must.True(t, err == nil, "%v", err)
			until(t, "a trial", measuring)
			r.Close()
			must.Equal(t, 130, ended(t, cmd))
			return line
		},
		"the terminal is closed": func(t *testing.T, cmd *exec.Cmd, measuring func() bool) string {
			master := must.Get(pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120}))(t)
			var words strings.Builder
			read := make(chan struct{})
			go func() {
				defer close(read)
				_, _ = io.Copy(&words, master) // until it is closed
			}()
			until(t, "a trial", measuring)
			master.Close()
			<-read
			must.Equal(t, 130, ended(t, cmd))
			return words.String()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := studyIn(t, longStudy)
			out := filepath.Join(dir, "run")
			cmd := tareIn(dir, "run", "study.yaml", "--out", out, "--verbose")
			t.Cleanup(func() {
				if cmd.Process != nil && cmd.ProcessState == nil {
					_ = cmd.Process.Kill()
				}
			})
			said := end(t, cmd, func() bool { return trialsIn(out) >= 1 })
			must.True(t, !strings.Contains(said, "goroutine "), "it printed its goroutines:\n%s", said)
			run := readRun(t, out)
			must.True(t, run.Status == result.RunInterrupted && run.Trials.OK != 0, "status %s, trials %+v", run.Status, run.Trials)
			if found := left(t, run.ID); found != nil {
				t.Errorf("left behind: %v", found)
			}
		})
	}
}

// Whoever reads the results may read nothing: a run that has nothing left but to print them ends when it is told to. It is complete.
func TestEndsWhilePrinting(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := studyIn(t, shortStudy())
	out := filepath.Join(dir, "run")
	r, w := must.Get2(os.Pipe())(t)
	defer r.Close()
	must.Get(unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096))(t)
	var words strings.Builder
	cmd := tareIn(dir, "run", "study.yaml", "--out", out, "--quiet", "--json")
	cmd.Stdout, cmd.Stderr = w, &words
	must.Do(t, cmd.Start())
	w.Close()
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
		}
	})
	until(t, "a full pipe", func() bool { return must.Get(unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ))(t) > 0 })
	must.Do(t, cmd.Process.Signal(syscall.SIGTERM))
	must.EqualFor(t, words.String(), 130, ended(t, cmd))
	must.Equal(t, "tare: interrupted while the results were printed; they are in "+out+"; tare report "+out+" prints them\n", words.String())
	run := readRun(t, out)
	must.True(t, run.Status == result.RunComplete && run.Trials.OK == 8 && left(t, run.ID) == nil, "status %s, trials %+v, left %v", run.Status, run.Trials, left(t, run.ID))
	must.Do(t, must.Err(os.Stat(filepath.Join(out, store.PageFile))))
}

// A run below nohup goes on after its terminal is closed.
func TestNohup(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := studyIn(t, longStudy)
	out := filepath.Join(dir, "run")
	cmd := exec.Command("bash", "-c", `trap "" HUP; exec -a tare "$0" "$@"`, copySelf(t, dir), "run", "study.yaml", "--out", out, "--quiet")
	cmd.Dir = dir
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
		}
	})
	for trials, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGHUP, syscall.SIGTERM} {
		until(t, "one more trial", func() bool { return trialsIn(out) > trials })
		must.Do(t, cmd.Process.Signal(sig))
	}
	must.Equal(t, 130, ended(t, cmd))
	if run := readRun(t, out); run.Trials.OK < 3 {
		t.Errorf("trials %+v", run.Trials)
	}
}

// A command that tries modes ends in order, too.
func TestDoctorEndsInOrder(t *testing.T) {
	t.Parallel()
	needRoot(t)
	cmd := tareIn(t.TempDir(), "doctor", "--modes", "netns/bridge,netns/vxlan,docker/bridge")
	out := must.Get(cmd.StdoutPipe())(t)
	var words strings.Builder
	cmd.Stderr = &words
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
		}
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // the first facts
		t.Fatal(err)
	}
	must.Do(t, cmd.Process.Signal(syscall.SIGQUIT))
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if code := ended(t, cmd); code != 130 || strings.Contains(words.String(), "goroutine ") {
		t.Errorf("exit code %d, want 130:\n%s", code, words.String())
	}
}

// A run whose results nobody reads is complete and leaves nothing behind.
func TestNobodyReadsStdout(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := studyIn(t, shortStudy())
	out := filepath.Join(dir, "run")
	r, w, err := os.Pipe()
	must.Do(t, err)
	r.Close()
	cmd := tareIn(dir, "run", "study.yaml", "--out", out)
	var words strings.Builder
	cmd.Stdout, cmd.Stderr = w, &words
	err = cmd.Start()
	w.Close()
	must.Do(t, err)
	if code := ended(t, cmd); code != 141 || strings.Contains(words.String(), "tare: ") {
		t.Errorf("exit code %d, want 141 and no message:\n%s", code, words.String())
	}
	run := readRun(t, out)
	must.Equal(t, result.RunComplete, run.Status)
	if found := left(t, run.ID); found != nil {
		t.Errorf("left behind: %v", found)
	}
}

// A pipe that head has closed ends any command without a message: by the signal, or if that would leave something
// behind, with the exit code that a shell reports for it.
func TestClosedPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Do(t, synthetic.Many{Shape: synthetic.Shape{Modes: 2, Blocks: 4, Seed: 7}, Runs: 2, Spread: 0.005, Step: 1}.Write(dir))
	runs := must.Get(filepath.Glob(filepath.Join(dir, "*", "run.json")))(t)
	must.Require(t, len(runs) == 2, "runs: %v", runs)
	first, second := filepath.Dir(runs[0]), filepath.Dir(runs[1])
	for _, args := range [][]string{
		{"modes"}, {"modes", "netns/vxlan"}, {"workloads"}, {"version"}, {"claims"}, {"plan", "default"}, {"help"}, {"run", "--help"}, {"completion", "bash"},
		{"ls", dir}, {"report", first}, {"report", "--full", first}, {"export", first}, {"compare", first, second}, {"check", "--baseline", first, second}, {"combine", first, second}, {"history", dir},
		{"doctor", "--machine"}, {"doctor", "--machine", "--json"},
	} {
		r, w, err := os.Pipe()
		must.Do(t, err)
		r.Close()
		cmd := tareIn(dir, args...)
		var words strings.Builder
		cmd.Stdout, cmd.Stderr = w, &words
		err = cmd.Run()
		w.Close()
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if words.Len() > 0 || status.ExitStatus() != 141 && (!status.Signaled() || status.Signal() != syscall.SIGPIPE) {
			t.Errorf("tare %s: %v:\n%s", strings.Join(args, " "), err, words.String())
		}
	}
}
