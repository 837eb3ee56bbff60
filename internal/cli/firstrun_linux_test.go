package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tare/internal/study"
	"tare/internal/testkit/must"
)

// atFirst starts tare on a terminal in an empty directory, as somebody who has no runs yet.
func atFirst(t *testing.T, env []string, args ...string) (a *atTerminal, runs string) {
	t.Helper()
	t.Setenv("CI", "")
	runs = filepath.Join(t.TempDir(), "runs")
	return runAt(t, 110, 50, append([]string{"TARE_RUNS=" + runs}, env...), args...), runs
}

const question = "Your traffic [Enter]:"

// answer types a line.
func (a *atTerminal) answer(t *testing.T, line string) {
	t.Helper()
	must.Get(a.master.WriteString(line))(t)
}

// wait waits for the end and returns the exit code.
func (a *atTerminal) wait(t *testing.T) int {
	t.Helper()
	return ended(t, a.cmd)
}

// The first run at a terminal asks which traffic is measured, and measures it.
func TestFirstRunAsks(t *testing.T) {
	needRoot(t)
	a, runs := atFirst(t, nil, "run")
	a.until(t, append(study.PurposeNames(), question, "a web service or an API", "Enter", "tcp_stream: a backup")...)
	a.answer(t, "gamse\n")
	a.until(t, fmt.Sprintf(`unknown traffic "gamse" (1 to %d, or a name)`, len(study.PurposeNames())))
	a.answer(t, "6\n")
	var text []byte
	until(t, "the study of the run", func() bool {
		found, err := filepath.Glob(filepath.Join(runs, "*", "study.yaml"))
		must.Do(t, err)
		if len(found) == 0 {
			return false
		}
		text, err = os.ReadFile(found[0])
		return err == nil && len(text) > 0
	})
	must.Do(t, a.cmd.Process.Signal(syscall.SIGINT))
	a.wait(t)
	must.Contain(t, string(text), "workload: udp_dns", "workload: tcp_dns")
	must.NotContain(t, string(text), "tcp_stream")
}

// The question ends as a run does with Ctrl-C, and after three wrong answers, without a run.
func TestFirstRunEnds(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		code    int
	}{
		"ctrl-c":  {[]string{"\x03"}, 130},
		"nothing": {[]string{"a\n", "99\n", "0\n"}, 2},
	} {
		a, runs := atFirst(t, nil, "run")
		for i, answer := range c.answers {
			a.until(t, question)
			must.Equal(t, i+1, a.times(question))
			a.answer(t, answer)
			if i+1 < len(c.answers) {
				until(t, "another question", func() bool { return a.times(question) > i+1 })
			}
		}
		must.EqualFor(t, name, c.code, a.wait(t))
		if _, err := os.Stat(runs); !os.IsNotExist(err) {
			t.Errorf("%s: a run was created: %v", name, err)
		}
	}
}

// times is how often the terminal has got a text.
func (a *atTerminal) times(text string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Count(a.raw.String(), text)
}

// Nobody is asked who has said what to measure, who has runs, or who may not be there. --max-time is too short for
// every study, so that nothing is measured here.
func TestFirstRunSilent(t *testing.T) {
	for name, c := range map[string]struct {
		env  []string
		args []string
		had  bool // there are runs
	}{
		"a flag":       {args: []string{"run", "--max-time", "1s"}},
		"a purpose":    {args: []string{"run", "--for", "games"}},
		"a workload":   {args: []string{"run", "--workloads", "games"}},
		"a study":      {args: []string{"run", "nowhere.yaml"}},
		"a CI job":     {env: []string{"CI=true"}, args: []string{"run"}},
		"a poor one":   {env: []string{"TERM=dumb"}, args: []string{"run"}},
		"earlier runs": {args: []string{"run"}, had: true},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.args) == 1 {
				needRoot(t)
			}
			if c.had {
				runs := filepath.Join(t.TempDir(), "had")
				must.Do(t, os.MkdirAll(filepath.Join(runs, "20261121-101500-default"), 0o700))
				c.env = append(c.env, "TARE_RUNS="+runs)
			}
			a, _ := atFirst(t, c.env, c.args...)
			if len(c.args) == 1 {
				until(t, "the choice", func() bool { return a.times("measuring namespaces")+a.times(question) > 0 })
				must.Do(t, a.cmd.Process.Signal(syscall.SIGINT))
			}
			a.wait(t)
			must.Equal(t, 0, a.times("Which traffic"))
		})
	}
}
