//go:build linux

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/screen"
	"tare/internal/timelimit"
)

// atTerminal is tare on a terminal of its own, as somebody would see it.
type atTerminal struct {
	cmd    *exec.Cmd
	master *os.File
	read   chan struct{} // closed when nothing more comes

	mu  sync.Mutex
	s   *screen.Screen
	raw strings.Builder
}

func runAt(t *testing.T, width, height int, env []string, args ...string) *atTerminal {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = "tare"
	cmd.Env = append(os.Environ(), env...)
	a := &atTerminal{cmd: cmd, s: screen.New(width, height), read: make(chan struct{})}
	a.master = must.Get(pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)}))(t)
	go func() {
		defer close(a.read)
		b := make([]byte, 8192)
		for {
			n, err := a.master.Read(b)
			a.mu.Lock()
			a.raw.Write(b[:n])
			_, _ = a.s.Write(b[:n])
			a.mu.Unlock()
			if err != nil {
				return // EIO: the program has ended
			}
		}
	}()
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		<-a.read
		a.master.Close()
	})
	return a
}

// until waits until the screen shows all of that, for as long as a stuck program may take.
func (a *atTerminal) until(t *testing.T, what ...string) {
	t.Helper()
	for deadline := time.Now().Add(timelimit.Scaled(time.Minute)); ; time.Sleep(20 * time.Millisecond) {
		a.mu.Lock()
		seen := a.s.String()
		a.mu.Unlock()
		missing := slices.DeleteFunc(slices.Clone(what), func(w string) bool { return strings.Contains(seen, w) })
		if len(missing) == 0 {
			return
		}
		must.Require(t, !time.Now().After(deadline), "waited in vain for %q; the screen shows:\n%s", missing, seen)
	}
}

func (a *atTerminal) modes(t *testing.T) unix.Termios {
	t.Helper()
	return *must.Get(unix.IoctlGetTermios(int(a.master.Fd()), unix.TCGETS))(t)
}

// livelyStudy would run for minutes, and has two blocks behind it soon, of trials that are
// long enough for their rate to be told.
const livelyStudy = `name: lively
blocks: 100
settle: 10ms
modes: [host, netns/bridge]
invalid: {steal: off, others: off, unsettled: off}
workloads:
  - {workload: tcp_rr, warmup: 20ms, duration: 900ms}
`

// A run on a terminal shows the matrix filling up and the rates of the trial under way.
// Interrupted with Ctrl-C, or asked to end by another program, it takes that away, prints
// the table in its place, and leaves the terminal as it was.
func TestLiveView(t *testing.T) {
	t.Parallel()
	needLab(t)
	for name, end := range map[string]func(*atTerminal) error{
		"Ctrl-C, as typed": func(a *atTerminal) error {
			_, err := a.master.WriteString("\x03")
			return err
		},
		"SIGTERM": func(a *atTerminal) error { return a.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testLiveView(t, end)
		})
	}
}

func testLiveView(t *testing.T, end func(*atTerminal) error) {
	dir := studyIn(t, livelyStudy)
	out := filepath.Join(dir, "run")
	a := runAt(t, 80, 30, []string{"TERM=xterm-256color", "LANG=C.UTF-8"}, "run", filepath.Join(dir, "study.yaml"), "--out", out)
	before := a.modes(t)
	a.until(t, "now: tcp_rr", " left")
	a.until(t, "█")
	a.until(t, "to block ", "ratios are provisional")
	if during := a.modes(t); during != before {
		t.Errorf("the terminal's modes were changed from %+v to %+v", before, during)
	}
	must.Do(t, end(a))
	<-a.read
	_ = a.cmd.Wait() // the exit code says it
	must.Equal(t, 130, a.cmd.ProcessState.ExitCode())
	lines := append(a.s.Above(), a.s.Lines()...)
	whole := strings.Join(lines, "") // as no line is longer than the terminal is wide
	if strings.Contains(whole, "now: ") || strings.Contains(whole, "verdicts follow at the end") || !strings.Contains(whole, "--resume "+out) || !strings.Contains(whole, "netns/bridge") {
		t.Errorf("the screen at the end shows:\n%s", strings.Join(lines, "\n"))
	}
	for _, l := range lines {
		must.True(t, !strings.ContainsAny(l, "━─█▇▆▅▄▃▂▁"), "of the live view there is left: %s", l)
	}
	must.True(t, !a.s.Hidden && len(a.s.Modes) == 0 && len(a.s.Unknown) == 0, "left behind: cursor hidden %t, modes %q, unknown sequences %q", a.s.Hidden, a.s.Modes, a.s.Unknown)
	must.EqualFor(t, "the run is", result.RunInterrupted, readRun(t, out).Status)
}

// Where a terminal cannot be drawn on there is a line for each change, and no sequence.
func TestDumbTerminal(t *testing.T) {
	t.Parallel()
	needLab(t)
	dir := studyIn(t, shortStudy())
	a := runAt(t, 80, 30, []string{"TERM=dumb"}, "run", filepath.Join(dir, "study.yaml"), "--out", filepath.Join(dir, "run"))
	<-a.read
	if err := a.cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, a.raw.String())
	}
	if raw := a.raw.String(); strings.Contains(raw, "\x1b") || !regexp.MustCompile(`(?m)^block 1 of 2, at most `).MatchString(raw) {
		t.Errorf("on a dumb terminal:\n%q", raw)
	}
}

// A terminal that goes away ends the run in order.
func TestTerminalGoesAway(t *testing.T) {
	t.Parallel()
	needLab(t)
	dir := studyIn(t, longStudy)
	out := filepath.Join(dir, "run")
	a := runAt(t, 80, 30, []string{"TERM=xterm"}, "run", filepath.Join(dir, "study.yaml"), "--out", out)
	a.until(t, "now: tcp_")
	must.Do(t, a.cmd.Process.Signal(syscall.SIGHUP))
	a.master.Close()
	<-a.read
	_ = a.cmd.Wait()
	if run := readRun(t, out); run.Status != result.RunInterrupted {
		t.Errorf("the run is %s, exit code %d", run.Status, a.cmd.ProcessState.ExitCode())
	}
}
