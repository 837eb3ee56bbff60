//go:build linux

package faults

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
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

	"golang.org/x/sys/unix"

	"tare/internal/store"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// tested is a run of the program, in a process of its own, that a fault will meet.
type tested struct {
	t    *testing.T
	rng  *rand.Rand
	home string // the directory of all its files
	out  string // the run's directory

	users      []string // paths of a user's, whose content must stay
	before     []string // a command that starts the program, such as unshare
	limits     string   // the factor of its time limits, as of timelimit.Variable; empty: that of this test
	namespaces uintptr  // new ones that it is in, as flags of clone
	terminal   bool     // the program has a terminal of its own
	ptmx       *os.File // the other end of the terminal
	holdAt     int      // the step at which the program is held until release; 0: never
	cmd        *exec.Cmd
	undo       []func() error // what ends the fault, after the program has ended

	mu     sync.Mutex
	lines  []string
	stdout bytes.Buffer
	ended  chan struct{} // closed when it has ended and all its lines are read
	held   chan struct{} // closed by release

	release func() // lets a program go on that is held
}

// args are those of a disturbed run: verbose, so that its steps can be seen.
func (r *tested) args() []string {
	return []string{"run", "-v", filepath.Join(r.home, "study.yaml"), "--out", r.out}
}

// start starts the program with args.
func (r *tested) start(args ...string) {
	r.t.Helper()
	command := append(slices.Clone(r.before), append([]string{program}, args...)...)
	r.cmd = exec.Command(command[0], command[1:]...)
	r.cmd.Dir = r.home
	if r.limits != "" {
		r.cmd.Env = append(os.Environ(), timelimit.Variable+"="+r.limits)
	}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: r.namespaces}
	if len(r.before) == 0 {
		r.cmd.Args[0] = "tare"
	}
	r.lines, r.ended, r.held = nil, make(chan struct{}), make(chan struct{})
	r.release = sync.OnceFunc(func() { close(r.held) })
	r.stdout.Reset()
	var from *os.File
	if r.terminal {
		from = r.openTerminal()
	} else {
		r.cmd.Stdout = &r.stdout
		out, in := r.pipe()
		r.cmd.Stderr, from = in, out
		defer in.Close()
	}
	must.Do(r.t, r.cmd.Start())
	read := make(chan struct{})
	go func() {
		r.read(from)
		close(read)
	}()
	cmd, ended := r.cmd, r.ended
	go func() {
		_ = cmd.Wait() // the exit code tells
		// What the program started may still have its stderr: its lines are not waited for.
		select {
		case <-read:
		case <-time.After(5 * time.Second):
		}
		close(ended)
	}()
}

// openTerminal gives the program a terminal as a shell's window does.
func (r *tested) openTerminal() *os.File {
	r.t.Helper()
	ptmx := must.Get(os.OpenFile("/dev/pts/ptmx", os.O_RDWR, 0))(r.t)
	n, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(ptmx.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	pts := must.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))(r.t)
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = pts, pts, pts
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	r.ptmx = ptmx
	r.undo = append(r.undo, func() error { pts.Close(); ptmx.Close(); return nil })
	return ptmx
}

// pipe is what the program prints its lines to. If it is to be held, the pipe has room for one line: whoever writes the next one waits for the
// reader, so that the run cannot end before its fault, however seldom this test gets a CPU.
func (r *tested) pipe() (out, in *os.File) {
	r.t.Helper()
	if r.holdAt == 0 {
		return must.Get2(os.Pipe())(r.t)
	}
	var ends [2]int
	must.Do(r.t, unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_DIRECT)) // a page for each write
	must.Get(unix.FcntlInt(uintptr(ends[1]), unix.F_SETPIPE_SZ, os.Getpagesize()))(r.t)
	return os.NewFile(uintptr(ends[0]), "stderr"), os.NewFile(uintptr(ends[1]), "stderr")
}

func (r *tested) read(from io.ReadCloser) {
	defer from.Close()
	held := r.held
	in := bufio.NewScanner(from)
	in.Buffer(make([]byte, 1<<20), 1<<20) // a packet pipe drops what does not fit
	for in.Scan() {
		r.mu.Lock()
		r.lines = append(r.lines, in.Text())
		r.mu.Unlock()
		if r.holdAt > 0 && r.steps() >= r.holdAt {
			<-held
		}
	}
}

// stderr is what the program has printed there.
func (r *tested) stderr() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}

// step matches the lines that show a step of a run: its start, a mode that is set up or
// failed, a trial.
var step = regexp.MustCompile(`(?m)^(results: |ready: |failed: |void: |block \d+/\d+ +trial )`)

// trialStep matches the line that shows a trial.
var trialStep = regexp.MustCompile(`(?m)^block \d+/\d+ +trial `)

// steps is how many steps the run has shown. A run in a terminal shows only its files.
func (r *tested) steps() int {
	if r.terminal {
		if _, err := os.Stat(filepath.Join(r.out, store.StudyFile)); err != nil {
			return 0
		}
		return 1 + bytes.Count(r.finished(), []byte("\n"))
	}
	return len(step.FindAllString(r.stderr(), -1))
}

// until waits for a condition and reports whether it came before the program's end. A program
// that does neither is stuck.
func (r *tested) until(cond func() bool) bool {
	r.t.Helper()
	for deadline := time.Now().Add(stuck); ; time.Sleep(2 * time.Millisecond) {
		if cond() {
			return true
		}
		select {
		case <-r.ended:
			return cond()
		default:
		}
		if time.Now().After(deadline) {
			_ = r.cmd.Process.Signal(syscall.SIGQUIT)
			r.t.Fatalf("the run is stuck:\n%s", r.stderr())
		}
	}
}

// stuck is how long a run may take that lasts some seconds, and a minute with an emulated CPU.
const stuck = 6 * time.Minute

// wait waits for the end and returns the exit code, and -1 after a signal.
func (r *tested) wait() int {
	r.t.Helper()
	select {
	case <-r.ended:
		return r.cmd.ProcessState.ExitCode()
	case <-time.After(stuck):
		_ = r.cmd.Process.Signal(syscall.SIGQUIT)
		<-r.ended
		r.t.Fatalf("the program does not end:\n%s", r.stderr())
		return 0
	}
}

// call runs the program to its end with other arguments.
func (r *tested) call(args ...string) (code int, out string) {
	r.t.Helper()
	return r.callIn(0, args...)
}

// callIn is call in new namespaces, by their flags of clone.
func (r *tested) callIn(namespaces uintptr, args ...string) (code int, out string) {
	r.t.Helper()
	c := &tested{t: r.t, home: r.home, out: r.out, before: r.before, namespaces: namespaces}
	c.start(args...)
	code = c.wait()
	return code, c.stdout.String() + c.stderr()
}

// repair ends the fault.
func (r *tested) repair() {
	r.t.Helper()
	for i := len(r.undo) - 1; i >= 0; i-- {
		must.Do(must.Named(r.t, "cannot end the fault"), r.undo[i]())
	}
	r.undo = nil
}

// finished are the lines of the trials that have ended.
func (r *tested) finished() []byte {
	data, err := os.ReadFile(filepath.Join(r.out, store.TrialsFile))
	if err != nil {
		return nil
	}
	return data[:bytes.LastIndexByte(data, '\n')+1]
}

// told are the lines of the trials that the run has shown: they are on the disk, whereas a line that can be read may not be yet.
func (r *tested) told() []byte {
	r.t.Helper()
	if r.terminal {
		return r.finished()
	}
	n := len(trialStep.FindAllString(r.stderr(), -1))
	lines := bytes.SplitAfter(r.finished(), []byte("\n"))
	must.Require(r.t, len(lines) > n, "%d trials were shown, and only %d can be read", n, len(lines)-1)
	return bytes.Join(lines[:n], nil)
}

// ours are the processes of the run below the controller: nothing else runs on this machine.
func (r *tested) ours(pick func(proc) bool) []proc {
	return slices.DeleteFunc(processes(), func(p proc) bool {
		return p.pid == 1 || p.pid == os.Getpid() || p.pid == r.cmd.Process.Pid || !pick(p)
	})
}
