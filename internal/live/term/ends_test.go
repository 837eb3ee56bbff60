//go:build linux

package term

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
)

// drawing, in its environment, makes a program of the tests that draws.
const drawing = "TARE_TEST_DRAWING"

// TestMain is also a program that draws until it is killed or panics.
func TestMain(m *testing.M) {
	if os.Getenv(drawing) == "" {
		os.Exit(m.Run())
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGUSR1)
	tell((&glass{tty: os.Stderr}).start(), middle())
	<-told
	panic("the program is at its wits' end")
}

// A program that panics or is killed while it draws leaves a usable terminal: the modes
// unchanged, the cursor visible at the start of a line, and the panic readable.
func TestBadEnds(t *testing.T) {
	for how, sig := range map[string]syscall.Signal{"panic": syscall.SIGUSR1, "SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL} {
		t.Run(how, func(t *testing.T) {
			g := watch(t, 80, 26)
			_, _ = g.tty.WriteString(prompt)
			before := modesOf(t, g)
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), drawing+"=1", "GOTRACEBACK=none")
			cmd.Stderr = g.tty
			must.Do(t, cmd.Start())
			done := make(chan error, 1)
			go func() { done <- cmd.Wait() }()
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			// Its clock does not advance, so nothing more is drawn.
			g.until("the matrix", shows(t, "middle_80", prompt))
			must.Do(t, cmd.Process.Signal(sig))
			select {
			case err := <-done:
				must.FailFor(t, "it ended well", err)
			case <-time.After(2 * time.Minute):
				t.Fatal("it does not end")
			}
			if how == "panic" {
				g.until("the panic", func(s string) bool { return strings.Contains(s, "\npanic: the program is at its wits' end") })
			}
			_, _ = g.tty.WriteString("$ echo next\n")
			g.until("the next prompt at the beginning of a line", func(s string) bool { return strings.Contains(s, "\n$ echo next\n") })
			if after := modesOf(t, g); after != before {
				t.Errorf("the terminal's modes were changed from %+v to %+v", before, after)
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			must.True(t, !g.s.Hidden && len(g.s.Modes) == 0, "left behind: cursor hidden %t, modes %q", g.s.Hidden, g.s.Modes)
		})
	}
}

func modesOf(t *testing.T, g *glass) unix.Termios {
	t.Helper()
	m := must.Get(unix.IoctlGetTermios(int(g.tty.Fd()), unix.TCGETS))(t)
	return *m
}
