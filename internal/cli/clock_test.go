//go:build linux

package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
	"tare/internal/testkit/synthetic"
)

// redated gives a run other times, as if its machine's wall clock had been set.
func redated(t *testing.T, run string, to func(time.Time) time.Time) {
	t.Helper()
	path := filepath.Join(run, store.RunFile)
	var r map[string]any
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile(path))(t), &r))
	for _, name := range []string{"started", "finished"} {
		r[name] = to(must.Get(time.Parse(time.RFC3339Nano, r[name].(string)))(t))
	}
	must.Do(t, os.WriteFile(path, must.Get(json.Marshal(r))(t), 0o600))
	trials, err := os.ReadFile(filepath.Join(run, store.TrialsFile))
	if os.IsNotExist(err) {
		return
	}
	must.Do(t, err)
	var out bytes.Buffer
	for line := range bytes.Lines(trials) {
		var tr map[string]any
		must.Do(t, json.Unmarshal(line, &tr))
		if at, ok := tr["started"].(string); ok {
			tr["started"] = to(must.Get(time.Parse(time.RFC3339Nano, at))(t))
		}
		out.Write(append(must.Get(json.Marshal(tr))(t), '\n'))
	}
	must.Do(t, os.WriteFile(filepath.Join(run, store.TrialsFile), out.Bytes(), 0o600))
}

// told runs tare and returns what it prints, with one space in place of spaces and line breaks.
func told(t *testing.T, args ...string) (code int, text string) {
	t.Helper()
	code, stdout, stderr := loop(t, result.Build{Version: "test"}, args...)
	return code, strings.Join(strings.Fields(stdout+stderr), " ")
}

// dates are what may differ between a run and the same run by another clock.
var dates = regexp.MustCompile(`(, )?\d{4}-\d\d-\d\d[ T][\d:.]+(Z| UTC)|, took [^,]+`)

// A wall clock that is set during a run decides nothing: trials are ordered by their numbers, and what a mode costs,
// how sure that is and whether it changed are the same.
func TestClockDecidesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	earlier, run := filepath.Join(dir, "earlier"), filepath.Join(dir, "run")
	shape := synthetic.Shape{Modes: 3, Blocks: 6, Seed: 7}
	must.Do(t, shape.Write(earlier))
	calls := [][]string{
		{"report", "--full", run}, {"export", run, "--format", "csv"}, {"export", run, "--format", "json"},
		{"compare", "--full", earlier, run}, {"check", "--baseline", earlier, "--full", run},
	}
	var codes []int
	var texts []string
	for _, to := range []func(i int, at time.Time) time.Time{
		func(_ int, at time.Time) time.Time { return at },
		func(i int, at time.Time) time.Time { return at.AddDate(-i%2, 0, 0) },
		func(i int, at time.Time) time.Time { return at.AddDate(30*(i%2), 0, 0) },
		func(_ int, at time.Time) time.Time { return time.Unix(4e9-at.Unix(), 0).UTC() },
		func(int, time.Time) time.Time { return time.Unix(0, 0).UTC() },
	} {
		must.Do(t, os.RemoveAll(run))
		must.Do(t, shape.Write(run))
		i := 0
		redated(t, run, func(at time.Time) time.Time { i++; return to(i, at) })
		var got []int
		var said []string
		for _, c := range calls {
			code, text := told(t, c...)
			got, said = append(got, code), append(said, dates.ReplaceAllString(text, ""))
		}
		if codes == nil {
			codes, texts = got, said
		}
		must.EqualFor(t, "exit codes", codes, got)
		for i, c := range calls {
			must.EqualFor(t, strings.Join(c, " "), texts[i], said[i])
		}
	}
}

// A history says where the clock was wrong, and compares a run with none that it cannot order before it.
func TestClockOfHistory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Do(t, synthetic.Many{Shape: synthetic.Shape{Modes: 2, Blocks: 5, Seed: 7}, Runs: 12, Spread: 0.01}.Write(dir))
	runs := must.Get(filepath.Glob(filepath.Join(dir, "*")))(t)
	last := runs[11]
	if code, text := told(t, "check", "--history", dir, last); code != 0 {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	i := 0
	redated(t, runs[5], func(at time.Time) time.Time { i++; return at.Add(time.Duration(-i) * 10 * time.Minute) })
	redated(t, last, func(at time.Time) time.Time { return at.AddDate(-20, 0, 0) })
	if code, text := told(t, "history", dir, "--format", "md"); code != 0 || !strings.Contains(text, "the clock was set back during the run") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	code, text := told(t, "check", "--history", dir, last)
	must.True(t, code != 0 && strings.Contains(text, "it did not start before the run that is checked") && strings.Contains(text, "0 comparable earlier runs"),
		"exit code %d\n%s", code, text)
}
