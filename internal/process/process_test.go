package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tare/internal/process"
	"tare/internal/testkit/must"
)

// does is the environment variable that selects what this program does instead of its
// tests.
const does = "TARE_TEST_PROCESS"

func TestMain(m *testing.M) {
	switch os.Getenv(does) {
	case "":
		os.Exit(m.Run())
	case "echo": // until its stdin is closed
		_, _ = io.Copy(os.Stdout, os.Stdin)
		fmt.Fprintln(os.Stderr, "first\nlast")
		os.Exit(3)
	case "flood":
		for {
			fmt.Println(strings.Repeat("x", 1<<16))
		}
	case "hang":
		time.Sleep(time.Minute)
	case "child": // inherits the output and keeps running
		self, err := os.Executable()
		if err != nil {
			panic(err)
		}
		child := exec.Command(self)
		child.Env = append(os.Environ(), does+"=hang")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
		fmt.Println(child.Process.Pid)
		time.Sleep(time.Minute)
	case "name": // writes its process id and keeps running
		fmt.Fprintln(os.Stderr, os.Getpid())
		time.Sleep(time.Minute)
	case "caller":
		p := process.NewSelf("a program that is called")
		p.Cmd.Env = append(os.Environ(), does+"=name")
		p.Cmd.Stderr = os.Stdout
		_, err := p.Output(context.Background())
		panic(err) // it hangs
	case "parent":
		p := process.NewSelf("a child")
		p.Cmd.Env = append(os.Environ(), does+"=hang")
		if err := p.StartTied(func(fn func() error) error { return fn() }); err != nil {
			panic(err)
		}
		fmt.Println(p.PID())
		time.Sleep(time.Minute)
	}
}

func started(t *testing.T, what string) *process.Process {
	t.Helper()
	p := process.NewSelf("it")
	p.Cmd.Env = append(os.Environ(), does+"="+what)
	p.Stdin, p.Stdout, p.Group = true, true, true
	must.Do(t, p.Start(nil))
	t.Cleanup(func() { must.Do(t, p.Kill()) })
	return p
}

func line(t *testing.T, p *process.Process) string {
	t.Helper()
	got := must.Get(bufio.NewReader(p).ReadString('\n'))(t)
	return strings.TrimSpace(got)
}

// What is written comes back, and closing stdin ends the process, with its last output.
func TestEndsWithStdin(t *testing.T) {
	p := started(t, "echo")
	must.Get(p.Write([]byte("hello\n")))(t)
	must.EqualFor(t, "read", "hello", line(t, p))
	must.EqualFor(t, "it runs, and ended", "", p.ExitReason())
	p.CloseStdin()
	must.Do(t, p.Wait(t.Context()))
	if got, want := p.ExitReason(), "exit status 3: first\nlast"; got != want {
		t.Errorf("it ended %q, want %q", got, want)
	}
	if p.LastLine() != "last" || p.Err() == nil {
		t.Errorf("it said last %q, error %v", p.LastLine(), p.Err())
	}
	if err := errors.Join(p.Kill(), p.Kill()); err != nil {
		t.Errorf("ended once more: %v", err)
	}
}

// Child processes are killed with the process if Group is set.
func TestGroup(t *testing.T) {
	p := started(t, "child")
	pid := line(t, p)
	must.Do(t, p.Kill())
	if got, want := p.ExitReason(), "signal: killed"; got != want {
		t.Errorf("it ended %q, want %q", got, want)
	}
	gone(t, pid)
}

// A tied process ends with its parent, whatever ends the parent.
func TestTied(t *testing.T) {
	p := started(t, "parent")
	pid := line(t, p)
	if err := p.Cmd.Process.Kill(); err != nil { // only the parent
		t.Fatal(err)
	}
	gone(t, pid)
}

// A program that is called returns its output or why it failed, and ends with its context.
func TestOutput(t *testing.T) {
	p := process.NewSelf("it")
	p.Cmd.Env, p.Cmd.Stdin = append(os.Environ(), does+"=echo"), strings.NewReader("hello")
	var exit *exec.ExitError
	if out, err := p.Output(t.Context()); out != "hello" || !errors.As(err, &exit) || exit.ExitCode() != 3 || p.LastLine() != "last" {
		t.Errorf("%q, %v, its last line %q", out, err, p.LastLine())
	}
	p = process.NewSelf("it")
	p.Cmd.Env = append(os.Environ(), does+"=hang")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("too late"))
	defer cancel()
	if out, err := p.Output(ctx); out != "" || err == nil || err.Error() != "too late" {
		t.Errorf("%q, %v", out, err)
	}
	p = process.NewSelf("it")
	p.Cmd.Env = append(os.Environ(), does+"=flood")
	if out, err := p.Output(t.Context()); out != "" || err == nil || err.Error() != "it wrote more than 64 MB" {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if _, err := process.New("it", "no-such-program-of-tare").Output(t.Context()); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// It does not outlive its caller, whatever ends that.
func TestOutputIsTied(t *testing.T) {
	p := started(t, "caller")
	pid := line(t, p)
	if err := p.Cmd.Process.Kill(); err != nil { // only the caller
		t.Fatal(err)
	}
	gone(t, pid)
}

// Waiting ends when the condition holds, with the process, and with the context.
func TestUntil(t *testing.T) {
	p := started(t, "echo")
	looks := 0
	must.Do(t, p.WaitFor(t.Context(), func() (bool, error) { looks++; return looks == 3, nil }))
	bad := errors.New("bad")
	if err := p.WaitFor(t.Context(), func() (bool, error) { return false, bad }); !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
	never := func() (bool, error) { return false, nil }
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, bad)
	defer cancel()
	if err := p.WaitFor(ctx, never); !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
	p.CloseStdin()
	if err := p.WaitFor(t.Context(), never); !errors.Is(err, process.ErrEnded) {
		t.Errorf("got %v", err)
	}
}

func TestNotThere(t *testing.T) {
	p := process.New("the tool", "no-such-program-of-tare")
	p.Stdin, p.Stdout = true, true
	if err := p.Start(nil); !errors.Is(err, exec.ErrNotFound) || !strings.HasPrefix(err.Error(), "start the tool: ") {
		t.Errorf("got %v", err)
	}
}

// Tail keeps the end of a long output.
func TestTail(t *testing.T) {
	var tail process.Tail
	for i := range 10_000 {
		must.Get(fmt.Fprintf(&tail, "%d\n", i))(t)
	}
	if got := tail.String(); len(got) != 2<<10 || !strings.HasSuffix(got, "\n9998\n9999\n") {
		t.Errorf("%d bytes are kept, at their end %q", len(got), got[max(0, len(got)-20):])
	}
}
