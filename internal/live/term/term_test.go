//go:build unix

package term

import (
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"go.uber.org/goleak"

	"tare/internal/live"
	"tare/internal/testkit/must"
	"tare/internal/testkit/screen"
)

// glass is a terminal with a user: a pty, and the screen at its other end.
type glass struct {
	t        *testing.T
	tty, end *os.File
	ended    chan struct{}

	mu  sync.Mutex
	s   *screen.Screen
	raw strings.Builder
}

func watch(t *testing.T, width, height int) *glass {
	t.Helper()
	end, tty := must.Get2(pty.Open())(t)
	g := &glass{t: t, tty: tty, end: end, ended: make(chan struct{}), s: screen.New(width, height)}
	g.size(width, height)
	go func() {
		defer close(g.ended)
		b := make([]byte, 4096)
		for {
			n, err := end.Read(b)
			if err != nil {
				return // the other end is closed
			}
			g.mu.Lock()
			g.raw.Write(b[:n])
			_, _ = g.s.Write(b[:n])
			g.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		tty.Close()
		end.Close()
		<-g.ended
	})
	return g
}

func (g *glass) size(width, height int) {
	g.t.Helper()
	must.Do(g.t, pty.Setsize(g.tty, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)}))
}

// seen is the content of the screen.
func (g *glass) seen() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.s.String()
}

// until waits until the screen is as wanted.
func (g *glass) until(what string, is func(seen string) bool) {
	g.t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(g.seen()); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			g.t.Fatalf("waited in vain for %s; the screen shows:\n%s", what, g.seen())
		}
	}
}

// start begins to draw there, with a clock that does not advance.
func (g *glass) start(environ ...string) *Listener {
	if environ == nil {
		environ = []string{"TERM=xterm-256color", "LANG=C.UTF-8"}
	}
	return Start(g.tty, Options{Environ: environ, Now: func() time.Time { return began().Add(42 * time.Second) }})
}

// tell hands events to a listener. The clock of the notes stands at their beginning.
func tell(l *Listener, events []live.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		l.s.note(e, began())
	}
}

// shows is the golden drawing, below what was on the screen before.
func shows(t *testing.T, name, before string) func(string) bool {
	t.Helper()
	want := must.Get(os.ReadFile("testdata/" + name + ".txt"))(t)
	return func(seen string) bool { return seen == before+string(want) }
}

const prompt = "$ tare run\n"

func TestScreen(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, c := range []struct {
		name          string
		width, height int
	}{{"middle_140", 140, 50}, {"middle_80", 80, 26}, {"middle_40", 40, 26}} {
		t.Run(c.name, func(t *testing.T) {
			g := watch(t, c.width, c.height)
			_, _ = g.tty.WriteString(prompt)
			l := g.start()
			tell(l, opening())
			g.until("the opening", func(s string) bool { return strings.Contains(s, "in set-up") })
			tell(l, middle())
			g.until("the matrix", shows(t, c.name, prompt))
			must.Do(t, l.Close())
			_, _ = g.tty.WriteString("the final table\n")
			g.until("the end", func(s string) bool { return s == prompt+"the final table\n" })
			g.mu.Lock()
			defer g.mu.Unlock()
			must.True(t, !g.s.Hidden && len(g.s.Modes) == 0 && len(g.s.Unknown) == 0,
				"left behind: cursor hidden %t, modes %q, unknown sequences %q", g.s.Hidden, g.s.Modes, g.s.Unknown)
			if raw := g.raw.String(); regexp.MustCompile(`\x1b\[(\?1049|\?2004|[0-9]* q|[0-9;?]*n|[0-9;?>]*c)`).MatchString(raw) {
				t.Errorf("the terminal was asked something, or set to another screen, mode or cursor: %q", raw)
			}
			must.Do(must.Named(t, "closed again"), l.Close())
			l.Handle(live.Decision{Text: "late"})
		})
	}
}

// Without colour the screen shows the same text, without any colour.
func TestNoColor(t *testing.T) {
	colour := regexp.MustCompile(`\x1b\[([0-9;]*;)?(3[0-8]|4[0-8]|9[0-7]|10[0-7])(;[0-9;]*)?m`)
	for _, c := range []struct {
		environ []string
		colours bool
	}{
		{[]string{"TERM=xterm-256color"}, true},
		{[]string{"TERM=xterm-256color", "NO_COLOR=1"}, false},
	} {
		g := watch(t, 80, 26)
		l := g.start(c.environ...)
		tell(l, middle())
		g.until("the matrix", shows(t, "middle_80", ""))
		must.Do(t, l.Close())
		g.mu.Lock() // the terminal may still be taking the end of it
		got := colour.MatchString(g.raw.String())
		g.mu.Unlock()
		must.EqualFor(t, c.environ, c.colours, got)
	}
}

// A resized window is redrawn, whether the terminal wraps the existing lines or cuts
// them.
func TestResize(t *testing.T) {
	for _, breaks := range []bool{true, false} {
		g := watch(t, 80, 26)
		_, _ = g.tty.WriteString(prompt)
		l := g.start()
		tell(l, middle())
		g.until("the matrix", shows(t, "middle_80", prompt))
		for _, to := range []struct {
			name, before  string
			width, height int
		}{
			{"middle_40", "", 40, 26}, {"middle_80", "", 80, 26}, {"middle_80x12", "", 80, 12}, {"middle_80", "", 80, 26}, {"middle_140", "", 140, 50}, {"middle_40", "", 40, 26},
		} {
			g.mu.Lock()
			g.s.Resize(to.width, to.height, breaks)
			g.mu.Unlock()
			g.size(to.width, to.height)
			sigwinch(t)
			g.until(to.name, shows(t, to.name, to.before))
		}
		must.Do(t, l.Close())
		g.until("nothing", func(s string) bool { return s == "\n" })
	}
}

// sigwinch is what the kernel sends to who has the pty as its terminal; this test has not.
func sigwinch(t *testing.T) {
	t.Helper()
	must.Do(t, syscall.Kill(os.Getpid(), syscall.SIGWINCH))
}

// A terminal that accepts no output does not delay the run.
func TestStoppedTerminal(t *testing.T) {
	end, tty := must.Get2(pty.Open())(t)
	must.Do(t, pty.Setsize(tty, &pty.Winsize{Rows: 60, Cols: 200}))
	l := Start(tty, Options{Environ: []string{"TERM=xterm"}})
	// The other end is not read: its buffer fills up.
	for i := range 20000 {
		l.Handle(live.TrialStarted{Done: i, Total: 20000, Block: 1, Blocks: 1, Modes: []string{"host"}, Workload: strings.Repeat("w", i%190)})
	}
	_ = l.Close() // says so where it had to give up
	end.Close()
	tty.Close()
	<-l.ended
}
