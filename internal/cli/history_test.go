package cli_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/cli"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
	"tare/internal/testkit/synthetic"
)

// historyRun is the program over a directory.
func historyRun(t *testing.T, args ...string) (out, told string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	app := cli.New(result.Build{Version: "test"})
	app.Stdout, app.Stderr = &stdout, &stderr
	code = app.Main(t.Context(), append([]string{"history"}, args...))
	return stdout.String(), stderr.String(), code
}

// overTime writes runs of a study with a step in the middle, and a broken one.
func overTime(t *testing.T, runs int) string {
	t.Helper()
	dir := t.TempDir()
	many := synthetic.Many{Shape: synthetic.Shape{Modes: 3, Blocks: 5, Seed: 7}, Runs: runs, Spread: 0.01, Step: 0.8, From: runs / 2}
	must.Do(t, many.Write(dir))
	bad := filepath.Join(dir, "broken")
	must.Do(t, os.Mkdir(bad, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(bad, store.RunFile), []byte(`{"schema":"tare.run/1","id":`), 0o600))
	return dir
}

// The planted change is found and no other, in every format, and the broken run is named.
func TestHistory(t *testing.T) {
	t.Parallel()
	dir := overTime(t, 24)
	out, told, code := historyRun(t, dir)
	must.Require(t, code == 0, "code %d: %s", code, told)
	var h result.History
	text, told, code := historyRun(t, dir, "--format", "json")
	if err := json.Unmarshal([]byte(text), &h); err != nil || code != 0 {
		t.Fatalf("code %d, %v: %s", code, err, told)
	}
	must.Require(t, len(h.Machines) == 1 && len(h.Machines[0].Runs) == 24 && len(h.Machines[0].Series) != 0, "the history has %d machines, %s", len(h.Machines), text)
	changes := 0
	for _, s := range h.Machines[0].Series {
		for _, c := range s.Changes {
			changes++
			must.True(t, c.Point == 12, "%s %s changed at run %d, want 12", s.Mode, s.Metric, c.Point)
		}
	}
	must.Equal(t, len(h.Machines[0].Series), changes)
	must.Contain(t, out, "changes found in 24 runs", "since run 0000000c of", "False alarms: ", "broken")
	for format, want := range map[string]string{"md": "# History of study", "html": "<!doctype html>", "openmetrics": "tare_history_ratio{"} {
		out, told, code := historyRun(t, dir, "--format", format)
		must.True(t, code == 0 && strings.Contains(out, want), "%s: code %d, %s:\n%.300s", format, code, told, out)
	}
	out, _, _ = historyRun(t, dir, "--format", "csv")
	records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	must.True(t, err == nil && len(records) == 1+24*len(h.Machines[0].Series), "csv: %d records, %v", len(records), err)
	file := filepath.Join(t.TempDir(), "history.html")
	out, told, code = historyRun(t, dir, "--format", "html", "--out", file)
	page, err := os.ReadFile(file)
	must.True(t, code == 0 && err == nil && out == "" && strings.Contains(told, "changes found") && bytes.Contains(page, []byte("<figure")),
		"--out: code %d, %v: %s%s", code, err, out, told)
}

// The flags choose, and what they do not find is an error that says what there is.
func TestHistoryFlags(t *testing.T) {
	t.Parallel()
	dir := overTime(t, 8)
	for _, run := range []string{"000001-synthetic", "000002-synthetic"} { // of another study of that name, and of another name
		path := filepath.Join(dir, run, store.StudyFile)
		text := strings.Replace(synthetic.Study, "[tcp_stream, tcp_rr]", "[tcp_stream]", 1)
		if run == "000002-synthetic" {
			text = "name: other\n" + strings.TrimPrefix(text, firstLine(text))
		}
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 0, "tare history --study other"},
		{[]string{"--format", "csv"}, 2, "choose one with --study"},
		{[]string{"--study", "nobody"}, 2, "there are: "},
		{[]string{"--study", "other"}, 0, "History of study other"},
		{[]string{"--study", "synthetic"}, 0, "its study has the same name and other settings"},
		{[]string{"--study", "synthetic", "--since", "2999-01-01"}, 0, "no run to show"},
		{[]string{"--study", "synthetic", "--since", "yesterday"}, 2, "write a date such as"},
		{[]string{"--study", "synthetic", "--mode", "nobody"}, 2, "--mode: there is no series of"},
		{[]string{"--study", "synthetic", "--workload", "nobody"}, 2, "--workload: there is no series of"},
		{[]string{"--study", "synthetic", "--machine", "nobody"}, 2, "--machine: no machine has"},
		{[]string{"--study", "synthetic", "--metric", "nobody"}, 2, "unknown metric"},
		{[]string{"--format", "xlsx"}, 2, "allowed: text, md, html, csv, openmetrics, json"},
		{[]string{"--format", "md", "--full"}, 2, "--full is for --format text"},
	} {
		out, told, code := historyRun(t, append([]string{dir}, c.args...)...)
		must.True(t, code == c.code && strings.Contains(strings.Join(strings.Fields(out+told), " "), c.want),
			"%q: code %d, want %d and %q:\n%s%s", c.args, code, c.code, c.want, out, told)
	}
}

func firstLine(text string) string { return text[:strings.IndexByte(text, '\n')+1] }
