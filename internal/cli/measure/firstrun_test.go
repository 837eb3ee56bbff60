package measure

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"tare/internal/cli/command"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/studies"
)

// Who can be asked: somebody at a terminal for input and output alike, without earlier runs.
func TestFirstRun(t *testing.T) {
	master, slave := must.Get2(pty.Open())(t)
	defer master.Close()
	defer slave.Close()
	must.Do(t, pty.Setsize(slave, &pty.Winsize{Rows: 40, Cols: 100}))
	t.Setenv("CI", "")
	t.Setenv("TERM", "xterm")
	runs := filepath.Join(t.TempDir(), "runs")
	t.Setenv("TARE_RUNS", runs)
	first := func(change func(*command.Streams)) bool {
		a := command.Streams{Stdin: slave, Stdout: slave, Stderr: slave}
		change(&a)
		return firstRun(a.Cleaned())
	}
	at := func(*command.Streams) {}
	must.Equal(t, true, first(at))
	must.Equal(t, false, first(func(a *command.Streams) { a.Stdin = strings.NewReader("1\n") }))
	must.Equal(t, false, first(func(a *command.Streams) { a.Stdout = new(bytes.Buffer) }))
	must.Equal(t, false, first(func(a *command.Streams) { a.Stderr = new(bytes.Buffer) }))
	must.Do(t, os.Mkdir(runs, 0o700))
	must.Equal(t, true, first(at))
	must.Do(t, os.Mkdir(filepath.Join(runs, "one"), 0o700))
	must.Equal(t, false, first(at))
	must.Do(t, os.Remove(filepath.Join(runs, "one")))
	t.Setenv("CI", "1")
	must.Equal(t, false, first(at))
}

// An answer is a number, a name, or nothing; the end of the input is the default.
func TestAskTraffic(t *testing.T) {
	for typed, want := range map[string]string{"\n": "", "": "", "2\n": "database", " web \n": "web", "x\n99\n1\n": "web", "dns": "dns"} {
		var said bytes.Buffer
		got := must.Get(askTraffic(t.Context(), command.Streams{Stdin: strings.NewReader(typed), Stdout: &said, Stderr: &said}))(t)
		must.EqualFor(t, typed, want, got)
		must.Contain(t, said.String(), "Which traffic is yours?", "1 web", "6 dns", "  Enter ")
		if lines := strings.Count(said.String(), "\n"); lines > 24 {
			t.Errorf("%d lines are more than a small terminal has", lines)
		}
	}
	_, err := askTraffic(t.Context(), command.Streams{Stdin: strings.NewReader("x\ny\n-1\n1\n"), Stderr: new(bytes.Buffer)})
	must.Fail(t, err, "--for "+strings.Join(study.PurposeNames(), "|"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	defer w.Close()
	_, err = askTraffic(ctx, command.Streams{Stdin: r, Stderr: new(bytes.Buffer)})
	must.True(t, command.ExitCode(err) == command.ExitInterrupted, "interrupted: %v", err)
}

// The default of the question is what the studies have that a run chooses itself.
func TestFirstWorkloads(t *testing.T) {
	for _, name := range []string{"default", "docker", "engine"} {
		src, ok := studies.Builtin(name)
		must.Require(t, ok, "there is no study %s", name)
		for _, kind := range firstWorkloads() {
			must.Contain(t, string(src), "\n  - "+kind)
		}
	}
}
