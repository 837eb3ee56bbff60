package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// lineOf is the line of a small trial, without its end.
func lineOf(seq int) string {
	return fmt.Sprintf(`{"schema":"tare.trial/1","seq":%d,"block":1,"mode":"m","workload":"w","status":"ok","started":"2026-11-20T12:00:00Z"}`, seq)
}

// onDisk makes a run's directory of these files.
func onDisk(t *testing.T, files map[string]string) string {
	t.Helper()
	path := t.TempDir()
	for name, data := range files {
		must.Do(t, os.WriteFile(filepath.Join(path, name), []byte(data), 0o644))
	}
	return path
}

func TestLoadTrials(t *testing.T) {
	one, two := lineOf(1), lineOf(2)
	long := strings.Replace(two, `"mode"`, `"reason":"`+strings.Repeat("x", 1<<20)+`","mode"`, 1)
	for _, c := range []struct {
		name, text string
		want       []int  // sequence numbers
		resumed    string // the file after OpenAppend
		err        string
	}{
		{"empty", "", nil, "", ""},
		{"two", one + "\n" + two + "\n", []int{1, 2}, one + "\n" + two + "\n", ""},
		{"last cut", one + "\n" + two[:40], []int{1}, one + "\n", ""},
		{"last cut by its last byte", one + "\n" + two[:len(two)-1], []int{1}, one + "\n", ""},
		{"only the newline missing", one + "\n" + two, []int{1, 2}, one + "\n" + two + "\n", ""},
		{"zeros after a power cut", one + "\n\x00\x00\x00", []int{1}, one + "\n", ""},
		{"the only line cut", one[:9], nil, "", ""},
		{"blank lines, and CRLF", one + "\r\n\n" + two + "\n", []int{1, 2}, one + "\r\n\n" + two + "\n", ""},
		{"long line", one + "\n" + long + "\n", []int{1, 2}, one + "\n" + long + "\n", ""},
		{"long last line, cut", one + "\n" + long[:len(long)-9], []int{1}, one + "\n", ""},
		{"cut in the middle", one + "\n" + two[:40] + "\n" + one + "\n", nil, "", ":2: it was cut or edited: invalid JSON from byte 40 on: unexpected end of JSON input"},
		{"last broken, not cut", one + "\n{}x\n", nil, "", ":2: it was cut or edited: invalid JSON from byte 3 on: invalid character 'x' after top-level value"},
		{"no trial", "7\n", nil, "", ":1: it was edited: it is not an object but number"},
		{"no schema", one + "\n{}\n", nil, "", `:2: schema is "", not "tare.trial/1"`},
		{"later schema", one + "\n" + strings.Replace(two, "trial/1", "trial/2", 1) + "\n", nil, "", `:2: schema "tare.trial/2", but this version of tare reads only "tare.trial/1"`},
		{"later schema, no newline", strings.Replace(two, "trial/1", "trial/12", 1), nil, "", `:1: schema "tare.trial/12", but`},
		{"later minor schema", strings.Replace(one, "trial/1", "trial/1.4", 1) + "\n", []int{1}, strings.Replace(one, "trial/1", "trial/1.4", 1) + "\n", ""},
		{"unknown status", strings.Replace(one, `"ok"`, `"fine"`, 1) + "\n", nil, "", `:1: unknown status "fine"`},
		{"number out of range", strings.Replace(one, `"mode"`, `"settle":1e999,"mode"`, 1) + "\n", nil, "", ":1: it was edited: settle cannot be a number 1e999"},
		{"too long", one + "\n" + strings.Repeat("x", maxLine+1) + "\n", nil, "", fmt.Sprintf(":2: line of more than %d bytes", maxLine)},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := onDisk(t, map[string]string{TrialsFile: c.text})
			d := must.Get(Open(path))(t)
			defer d.Close()
			_, trials, err := d.Load()
			var got []int
			for _, tr := range trials {
				got = append(got, tr.Seq)
			}
			must.Equal(t, c.want, got)
			wantErr(t, err, filepath.Join(path, TrialsFile), c.err)

			r, err := OpenAppend(path)
			wantErr(t, err, filepath.Join(path, TrialsFile), c.err)
			if err == nil {
				must.Do(t, r.Append(sample(3)), r.Close())
			}
			after := string(must.Get(os.ReadFile(filepath.Join(path, TrialsFile)))(t))
			if c.err != "" {
				must.EqualFor(t, "a file that cannot be read was changed", c.text, after)
				return
			}
			must.True(t, strings.HasPrefix(after, c.resumed+`{"schema"`), "after resuming %.300q, want %.300q and one more", after, c.resumed)
			if _, trials, err := d.Load(); err != nil || len(trials) != len(c.want)+1 {
				t.Errorf("after resuming %d trials, %v", len(trials), err)
			}
		})
	}
}

// wantErr checks for an error that names the place and says what is wrong.
func wantErr(t *testing.T, err error, place, what string) {
	t.Helper()
	if what == "" {
		must.True(t, err == nil, "%v", err)
		return
	}
	must.True(t, err != nil && strings.Contains(err.Error(), place+what), "error %v, want %s%s", err, place, what)
}

// The longest line that Append lets through can be read back.
func TestLongestLine(t *testing.T) {
	d := created(t)
	tr := result.Trial{Mode: "m", Workload: "w", Status: result.TrialOK, Reason: "x"}
	tr.Reason = strings.Repeat("x", 1+maxLine-len(must.Get(encodeTrial(tr))(t)))
	must.Do(t, d.Append(tr))
	_, trials := must.Get2(d.Load())(t)
	must.True(t, len(trials) == 1 && len(trials[0].Reason) == len(tr.Reason), "%d trials", len(trials))
	tr.Reason += "x"
	must.FailFor(t, "appended one byte more", d.Append(tr))
}

func TestLoadWithoutRun(t *testing.T) {
	d := created(t)
	empty, trials := must.Get2(d.Load())(t)
	if diff := cmp.Diff(result.Run{Schema: result.Schema, Status: result.RunInterrupted}, empty); diff != "" || len(trials) > 0 {
		t.Error(trials, diff)
	}
	for i, tr := range []result.Trial{
		{Mode: "a", Status: result.TrialFailed, Reason: "no path"}, {Mode: "b", Status: result.TrialFailed, Reason: "no path"}, {Mode: "b", Status: result.TrialOK},
		{Mode: "a", Status: result.TrialInvalid, Reason: "steal"}, {Mode: "b", Status: result.TrialInvalid, Reason: "steal"},
	} {
		tr.Workload, tr.Started = "w", noon.Add(time.Duration(-i)*time.Second)
		must.Do(t, d.Append(tr))
	}
	run, _ := must.Get2(d.Load())(t)
	want := result.Run{
		Schema: result.Schema, Status: result.RunInterrupted, Started: noon.Add(-4 * time.Second), Trials: result.Tally{OK: 1, Invalid: 2, Failed: 2},
		Modes: []result.Mode{{ID: "a", Title: "a", Status: result.ModeFailed, Reason: "steal"}, {ID: "b", Title: "b", Status: result.ModeMeasured}},
	}
	must.Equal(t, want, run)
}

func TestLoadRun(t *testing.T) {
	whole := string(must.Get(EncodeRun(wholeRun()))(t)) // knows two trials
	stale := wholeRun()
	stale.Status = result.RunInterrupted
	stale.Warnings = append(stale.Warnings, result.Warning{Code: "stale_run", Scope: "run",
		Text: "trials.ndjson contains 3 trials, but run.json was written after 2: the run continued and was killed"})
	fewer := wholeRun()
	fewer.Warnings = append(fewer.Warnings, result.Warning{Code: "trials_missing", Scope: "run",
		Text: "trials.ndjson contains 1 trial, but run.json was written after 2: the missing trials are not shown, but are part of the results; the file was cut, edited or copied incompletely"})
	none := wholeRun()
	none.Warnings = append(none.Warnings, result.Warning{Code: "trials_missing", Scope: "run", Text: strings.Replace(fewer.Warnings[len(fewer.Warnings)-1].Text, "1 trial,", "0 trials,", 1)})
	three := lineOf(1) + "\n" + lineOf(2) + "\n" + lineOf(3) + "\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  result.Run
		err   string
	}{
		{"without trials", map[string]string{RunFile: whole}, none, ""},
		{"fewer trials than it knows", map[string]string{RunFile: whole, TrialsFile: lineOf(1) + "\n" + lineOf(2)[:20]}, fewer, ""},
		{"as many trials as it knows", map[string]string{RunFile: whole, TrialsFile: lineOf(1) + "\n" + lineOf(2) + "\n"}, wholeRun(), ""},
		{"trials that it does not know", map[string]string{RunFile: whole, TrialsFile: three}, stale, ""},
		{"later schema", map[string]string{RunFile: `{"schema":"tare.run/2","hosts":7}`}, result.Run{}, `: schema "tare.run/2", but this version of tare reads only "tare.run/1"`},
		{"later minor schema, unknown fields", map[string]string{RunFile: `{"schema":"tare.run/1.3","id":"x","new":{}}`}, result.Run{Schema: "tare.run/1.3", ID: "x"}, ""},
		{"something else", map[string]string{RunFile: `{"schema":"tare.runner/1"}`}, result.Run{}, `: schema is "tare.runner/1", not "tare.run/1"`},
		{"broken", map[string]string{RunFile: whole[:50]}, result.Run{}, ": it was cut or edited: invalid JSON from byte 50 on: unexpected end of JSON input"},
		{"broken beside trials", map[string]string{RunFile: whole[:50], TrialsFile: three}, result.Run{}, ": it was cut or edited: invalid JSON from byte 50 on: unexpected end of JSON input; remove the file to report from the trials alone"},
		{"empty", map[string]string{RunFile: ""}, result.Run{}, ": it was cut or edited: invalid JSON from byte 0 on"},
		{"a list", map[string]string{RunFile: "[]"}, result.Run{}, ": it was edited: it is not an object but array"},
		{"not a number", map[string]string{RunFile: strings.Replace(whole, `"n": 1`, `"n": NaN`, 1)}, result.Run{}, ": it was cut or edited: invalid JSON"},
		{"more than a number holds", map[string]string{RunFile: strings.Replace(whole, `"n": 1`, `"n": 1e999`, 1)}, result.Run{}, ": it was edited: cells.n cannot be a number 1e999"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := onDisk(t, c.files)
			d := must.Get(Open(path))(t)
			defer d.Close()
			run, _, err := d.Load()
			wantErr(t, err, filepath.Join(path, RunFile), c.err)
			must.Equal(t, c.want, run)
		})
	}
}
