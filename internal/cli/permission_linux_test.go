package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tare/internal/store"
	"tare/internal/testkit/must"
	"tare/internal/testkit/synthetic"
)

// chmod sets the modes of files.
func chmod(t *testing.T, mode os.FileMode, paths ...string) {
	t.Helper()
	for _, path := range paths {
		must.Do(t, os.Chmod(path, mode))
	}
}

// What an ordinary user has no right to read or to write is said in a line, with what to
// do, and with the exit code of an environment that cannot.
func TestNoPermission(t *testing.T) {
	t.Parallel()
	needRoot(t) // to make what another user may not touch
	top := t.TempDir()
	chmod(t, 0o755, filepath.Dir(top), top)
	run := func(name string, folder, files os.FileMode) string {
		dir := filepath.Join(top, name, "run")
		must.Do(t, (synthetic.Shape{Modes: 2, Blocks: 3, Seed: 1}).Write(dir))
		chmod(t, files, filepath.Join(dir, store.RunFile), filepath.Join(dir, store.TrialsFile))
		chmod(t, 0o644, filepath.Join(dir, store.StudyFile))
		chmod(t, folder, dir)
		return dir
	}
	open := run("open", 0o755, 0o644)
	shut, hidden, secret := run("shut", 0o700, 0o644), run("hidden", 0o744, 0o644), run("secret", 0o755, 0o600)
	chmod(t, 0o700, filepath.Dir(run("runs", 0o755, 0o644)))
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"report", open}, "make " + open + " writable"},
		{[]string{"report", shut}, "permission denied: read it as the user who made it"},
		{[]string{"report", hidden}, "permission denied"},
		{[]string{"report", secret}, "permission denied"},
		{[]string{"export", shut}, "permission denied"},
		{[]string{"export", secret}, "permission denied"},
		{[]string{"compare", open, shut}, "permission denied"},
		{[]string{"compare", hidden, open}, "permission denied"},
		{[]string{"check", "--baseline", secret, open}, "permission denied"},
		{[]string{"combine", open, shut}, "permission denied"},
		{[]string{"serve", filepath.Join(top, "runs"), "--listen", "127.0.0.1:0"}, "permission denied"},
		{[]string{"ls", filepath.Join(top, "runs")}, "permission denied"},
	} {
		t.Run(strings.Join(c.args[:1], " ")+" "+filepath.Base(filepath.Dir(c.args[len(c.args)-1])), func(t *testing.T) {
			p := startAs(t, asNobody(), top, c.args...)
			code, said := p.wait(t), strings.TrimSpace(p.stderr.String())
			must.True(t, code == 3 && strings.Contains(said, c.says) && !strings.Contains(said, "\n") && strings.HasPrefix(said, "tare: "),
				"exit code %d, want 3, and %q in one line:\n%s", code, c.says, said)
			// Of a report that cannot be written there is the table.
			if table := strings.Contains(p.stdout.String(), "netns/m1"); table != (c.args[0] == "report" && c.args[1] == open) {
				t.Errorf("stdout:\n%s", p.stdout.String())
			}
		})
	}
	must.EqualFor(t, "what cannot be written left", 3, len(must.Get(os.ReadDir(open))(must.Named(t, "what cannot be written left"))))
}

// A port that is taken is told with what to do. Two servers on one directory do not mind
// each other.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	must.Do(t, (synthetic.Shape{Modes: 2, Blocks: 3, Seed: 1}).Write(filepath.Join(top, "runs", "one")))
	one, two := serving(t, top), serving(t, top)
	for _, at := range []string{one.at, two.at, one.at} {
		if text := got(t, at); !strings.Contains(text, "one") {
			t.Errorf("%s lists no run:\n%s", at, text)
		}
	}
	taken := one.host(t)
	p := start(t, top, "serve", "runs", "--listen", taken)
	code, said := p.wait(t), p.stderr.String()
	if want := "tare: serve: " + taken + " is taken, perhaps by another tare serve: choose another with --listen"; code != 3 || !strings.HasPrefix(said, want) || strings.Count(said, "\n") != 1 {
		t.Errorf("exit code %d, want 3, and %q:\n%s", code, want, said)
	}
	must.Contain(t, got(t, one.at), "one")
	for _, s := range []*server{one, two} {
		must.Do(t, s.cmd.Process.Signal(syscall.SIGTERM))
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("ended by SIGTERM: %v", err)
		}
	}
}
