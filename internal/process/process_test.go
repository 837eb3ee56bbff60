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
)

// does is what this program does instead of its tests.
const does = "TARE_TEST_PROCESS"

func TestMain(m *testing.M) {
	switch os.Getenv(does) {
	case "":
		os.Exit(m.Run())
	case "echo": // until its stdin ends
		_, _ = io.Copy(os.Stdout, os.Stdin)
		fmt.Fprintln(os.Stderr, "first\nlast")
		os.Exit(3)
	case "hang":
		time.Sleep(time.Minute)
	case "child": // has the output too, and lives on
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
	if err := p.Start(nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func line(t *testing.T, p *process.Process) string {
	t.Helper()
	got, err := bufio.NewReader(p).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(got)
}

// What is written comes back, and the end of its stdin is its own, with its last words.
func TestEndsWithStdin(t *testing.T) {
	p := started(t, "echo")
	if _, err := p.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	if got := line(t, p); got != "hello" {
		t.Errorf("read %q", got)
	}
	if fate := p.ExitReason(); fate != "" {
		t.Errorf("it runs, and ended: %s", fate)
	}
	p.CloseStdin()
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
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

// What it has started is killed with it where its group is.
func TestGroup(t *testing.T) {
	p := started(t, "child")
	pid := line(t, p)
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if got, want := p.ExitReason(), "signal: killed"; got != want {
		t.Errorf("it ended %q, want %q", got, want)
	}
	gone(t, pid)
}

// A tied process ends with its parent, however that does.
func TestTied(t *testing.T) {
	p := started(t, "parent")
	pid := line(t, p)
	if err := p.Cmd.Process.Kill(); err != nil { // it alone
		t.Fatal(err)
	}
	gone(t, pid)
}

// Waiting ends when what is waited for holds, with the process, and with the context.
func TestUntil(t *testing.T) {
	p := started(t, "echo")
	looks := 0
	if err := p.WaitFor(t.Context(), func() (bool, error) { looks++; return looks == 3, nil }); err != nil {
		t.Error(err)
	}
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

// Of much that is written the end is kept.
func TestTail(t *testing.T) {
	var tail process.Tail
	for i := range 10_000 {
		if _, err := fmt.Fprintf(&tail, "%d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	if got := tail.String(); len(got) != 2<<10 || !strings.HasSuffix(got, "\n9998\n9999\n") {
		t.Errorf("%d bytes are kept, at their end %q", len(got), got[max(0, len(got)-20):])
	}
}
