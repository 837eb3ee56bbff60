package engine_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

func kill(t *testing.T, pid int) {
	t.Helper()
	must.Do(t, unix.Kill(pid, unix.SIGKILL))
}

// hostPID returns the id of a container's first process on this machine.
func hostPID(t *testing.T, c *engine.Container) int {
	t.Helper()
	return find(t, func(args []string) bool {
		return args[0] == "/tare" && args[1] == "hold" && args[len(args)-1] == c.Name
	})
}

// dockerd returns the id of the bench's engine on this machine.
func (b bench) dockerd(t *testing.T) int {
	t.Helper()
	return find(t, func(args []string) bool {
		return filepath.Base(args[0]) == "dockerd" && strings.Contains(strings.Join(args, " "), b.Dir())
	})
}

// find returns the one process on this machine whose command line matches. A container counts as
// started shortly before its first process is this program.
func find(t *testing.T, fits func(args []string) bool) int {
	t.Helper()
	var found []int
	for until := time.Now().Add(10 * time.Second); len(found) == 0 && time.Now().Before(until); time.Sleep(time.Millisecond) {
		found = all(t, fits)
	}
	must.Require(t, len(found) == 1, "%d processes match, want one", len(found))
	return found[0]
}

func all(t *testing.T, fits func(args []string) bool) (found []int) {
	t.Helper()
	dirs := must.Get(filepath.Glob("/proc/[0-9]*"))(t)
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		if err != nil || len(args) < 2 || !fits(args) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		found = append(found, pid)
	}
	return found
}

// children returns the processes whose parent is pid, including zombies.
func children(t *testing.T, pid int) (found []string) {
	t.Helper()
	stats := must.Get(filepath.Glob("/proc/[0-9]*/stat"))(t)
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// State and parent follow the last bracket of the name (proc(5)).
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			found = append(found, path+" "+fields[0])
		}
	}
	return found
}

// A container's first process reaps orphans and exits on a signal.
func TestPause(t *testing.T) {
	b := newBench(t)
	b.Binary = "/proc/self/exe" // which leaves an orphan
	c := b.Container(t, b.Spec("client"))
	hold := hostPID(t, c)
	conn := must.Get(c.Launch(t.Context(), parent))(t)
	// The orphan keeps stdout open while it runs.
	text, err := io.ReadAll(conn)
	if err := errors.Join(err, conn.Close(t.Context())); err != nil || string(text) != "orphan" {
		t.Fatalf("%q, %v", text, err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for len(children(t, hold)) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("exited with %v", children(t, hold))
		}
		time.Sleep(10 * time.Millisecond)
	}
	must.Get(b.user(t).ContainerStop(t.Context(), c.ID, client.ContainerStopOptions{}))(t)
	// A killed one would have 137.
	if s, err := c.State(t.Context()); err != nil || s.Running || s.ExitCode != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Both endpoints of a mode on two engines that have the image: created, started and their agents'
// handshake, concurrently as in a driver; then removed.
func BenchmarkEnds(b *testing.B) {
	l := drivertest.Lab(b, nil)
	x, y := must.Get2(private.StartBoth(b.Context(), l))(b)
	defer x.Close()
	defer y.Close()
	run := l.Spec.Claim.ID
	both := func(do func(p *private.Engine) error) {
		errs := make(chan error, 2)
		for _, p := range []*private.Engine{x, y} {
			go func() { errs <- do(p) }()
		}
		must.Do(b, errors.Join(<-errs, <-errs))
	}
	began := time.Now()
	both(func(p *private.Engine) error {
		_, err := p.Image(b.Context(), run)
		return err
	})
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms/image")
	var removing time.Duration
	for b.Loop() {
		both(func(p *private.Engine) error {
			c, err := p.Run(b.Context(), engine.ContainerSpec{Run: run, Part: "end", Name: engine.Name(run, p.Name)})
			if err != nil {
				return err
			}
			a, err := agent.Start(b.Context(), c, run, p.Name+"/end")
			if err != nil {
				return err
			}
			return a.Close()
		})
		b.StopTimer()
		began := time.Now()
		both(func(p *private.Engine) error { return p.RemoveRun(b.Context(), run) })
		removing += time.Since(began)
		both(func(p *private.Engine) error {
			_, err := p.Image(b.Context(), run)
			return err
		})
		b.StartTimer()
	}
	b.ReportMetric(float64(removing.Milliseconds())/float64(b.N), "ms/removed")
}
