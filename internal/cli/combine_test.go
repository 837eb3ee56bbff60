package cli_test

import (
	"bytes"
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

// combineRuns is the program over runs.
func combineRuns(t *testing.T, args ...string) (out, told string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	app := cli.New(result.Build{Version: "test"})
	app.Stdout, app.Stderr = &stdout, &stderr
	code = app.Main(t.Context(), append([]string{"combine"}, args...))
	return stdout.String(), stderr.String(), code
}

// onMachines writes runs of a study, each on the machine of that name, and returns their directories.
func onMachines(t *testing.T, spread float64, machines ...string) []string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, synthetic.Many{Shape: synthetic.Shape{Modes: 3, Blocks: 7, Seed: 7}, Runs: len(machines), Spread: spread}.Write(dir))
	var out []string
	for i, run := range must.Get(store.List(dir))(t) {
		edit(t, run.Path, func(r *result.Run) {
			for h := range r.Hosts {
				r.Hosts[h].Facts = append(r.Hosts[h].Facts, result.Fact{Name: "cpu_model", Value: machines[i]})
			}
			r.Hosts[1].Facts = append(r.Hosts[1].Facts, result.Fact{Name: "machine", Value: "the same as a: two network namespaces of one kernel"})
		})
		out = append(out, run.Path)
	}
	return out
}

// edit changes the run.json of a run.
func edit(t *testing.T, dir string, change func(*result.Run)) {
	t.Helper()
	file := filepath.Join(dir, store.RunFile)
	var run result.Run
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile(file))(t), &run))
	change(&run)
	must.Do(t, os.WriteFile(file, must.Get(store.EncodeRun(run))(t), 0o600))
}

// Three machines, of which two have two runs, in every form: how many runs of how many machines, the combined change, the range.
func TestCombine(t *testing.T) {
	t.Parallel()
	runs := onMachines(t, 0.01, "Xeon 8481C", "EPYC 9654", "Xeon 8481C", "Altra Q80", "EPYC 9654")
	page := filepath.Join(t.TempDir(), "forest.html")
	out, told, code := combineRuns(t, append(runs, "--html", page)...)
	must.EqualFor(t, told, 0, code)
	must.Contain(t, out, "5 runs of 3 machines", "A machine counts once", "on average over 3 machines: netns/m1 worse, -", "on the next machine -", "combined", "next machine", "spread", "More: tare combine --full ")
	for line := range strings.Lines(out) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 && !strings.Contains(line, runs[0]) {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	must.Contain(t, string(must.Get(os.ReadFile(page))(t)), "<!doctype html>", "<figure", "EPYC 9654", "next machine")
	out, told, code = combineRuns(t, append(runs, "--format", "json", "--metrics", "goodput", "--margin", "10%")...)
	must.EqualFor(t, told, 0, code)
	var c result.Combination
	must.Do(t, json.Unmarshal([]byte(out), &c))
	must.Equal(t, 3, len(c.Machines))
	must.Equal(t, 0.1, c.Margin)
	for _, r := range c.Ratios {
		must.True(t, r.Metric == "goodput" && r.N == 3 && len(r.Units) == 3 && r.Next != nil && r.RatioCI != nil, "%+v", r)
	}
	must.Equal(t, 4, len(c.Ratios)) // two modes, in tcp_stream and udp_stream
	out, told, code = combineRuns(t, append(runs, "--format", "md")...)
	must.EqualFor(t, told, 0, code)
	must.Contain(t, out, "# Combined: study synthetic", "| mode | baseline | combined | next machine | spread | runs | machines |")
	out, told, code = combineRuns(t, append(runs, "--full", "--distinct")...)
	must.EqualFor(t, told, 0, code)
	must.Contain(t, out, "5 runs of 5 machines", "as requested")
	out, _, code = combineRuns(t, runs[0], runs[1])
	must.EqualFor(t, out, 0, code)
	must.Contain(t, out, "Two machines show no range for the next one")
	out, _, code = combineRuns(t, runs[1], runs[4]) // the runs are listed newest first
	must.EqualFor(t, out, 0, code)
	must.Contain(t, out, "2 runs of 1 machine", "All runs are of one machine")
}

// What cannot be combined is refused with code 2, and every such run is named with its reason.
func TestCombineRefused(t *testing.T) {
	t.Parallel()
	runs := onMachines(t, 0.01, "A", "B", "C", "D", "E", "F", "G")
	write := func(run, name, text string) {
		must.Do(t, os.WriteFile(filepath.Join(run, name), []byte(text), 0o600))
	}
	write(runs[1], store.StudyFile, strings.Replace(synthetic.Study, "tcp_rr]", "{workload: tcp_rr, request_size: 4KiB}]", 1))
	write(runs[2], store.StudyFile, strings.Replace(synthetic.Study, "netns/bridge]", "{mode: netns/bridge, with: {gro: \"off\"}}]", 1))
	write(runs[3], store.RunFile, `{"schema":"tare.run/1","id":`)
	edit(t, runs[4], func(r *result.Run) { r.Trials, r.Cells = result.Tally{Failed: 3}, nil })
	edit(t, runs[5], func(r *result.Run) { r.Modes[1].Baseline = "netns/m2" })
	write(runs[6], store.StudyFile, strings.Replace(synthetic.Study, "profile: standard", "profile: quick", 1)) // only less precise
	missing := filepath.Join(filepath.Dir(runs[0]), "missing")
	_, told, code := combineRuns(t, append(runs, missing, runs[0])...)
	must.Equal(t, 2, code)
	must.Contain(t, told, "7 of 9 runs cannot be combined with the first:", "workload tcp_rr: request_size is 4", "mode netns/bridge: with is gro: off, and not set in the first run",
		"it has no valid trial", "mode netns/m1 has the baseline netns/m2, and host in", "missing: ", "it is the same run as "+runs[0], store.RunFile, "Leave them out")
	out, told, code := combineRuns(t, runs[0], runs[6])
	must.EqualFor(t, told, 0, code)
	must.Contain(t, out, "2 runs of 2 machines")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "the runs are missing; use tare combine RUN RUN..."},
		{runs[:1], "is one run, and there is nothing to combine it with"},
		{[]string{runs[0], runs[6], "--format", "xml"}, "allowed: text, md, json"},
		{[]string{runs[0], runs[6], "--format", "md", "--full"}, "--full is for --format text"},
		{[]string{runs[0], runs[6], "--metrics", "speed"}, `unknown metric "speed"`},
		{[]string{runs[0], runs[6], "--metrics", "delay_variation_p99"}, "the runs have nothing to combine"},
		{[]string{runs[0], runs[6], "--margin", "x"}, "--margin is"},
	} {
		_, told, code := combineRuns(t, c.args...)
		must.True(t, code == 2 && strings.Contains(told, c.want), "%q: code %d, want %q: %s", c.args, code, c.want, told)
	}
}

// Names with control characters reach no terminal and no page as such.
func TestCombineHostileNames(t *testing.T) {
	t.Parallel()
	runs := onMachines(t, 0.01, "A\x1b[31m", "B<script>", "C\u202e")
	for _, run := range runs {
		edit(t, run, func(r *result.Run) {
			for i := range r.Cells {
				r.Cells[i].Mode = strings.Replace(r.Cells[i].Mode, "m1", "m1\x1b[2J<script>\u202e", 1)
			}
		})
	}
	page := filepath.Join(t.TempDir(), "forest.html")
	out, told, code := combineRuns(t, append(runs, "--full", "--html", page)...)
	must.EqualFor(t, told, 0, code)
	html := string(must.Get(os.ReadFile(page))(t))
	must.True(t, !strings.ContainsAny(out+html, "\x1b\u202e") && !strings.Contains(html, "m1<script>") && !strings.Contains(html, "B<script>"), "a name was not escaped")
}

// The shell completes runs and formats.
func TestCombineComplete(t *testing.T) {
	runs := onMachines(t, 0.01, "A", "B")
	t.Setenv("TARE_RUNS", filepath.Dir(runs[0]))
	for _, c := range [][2]string{{"combine ", filepath.Base(runs[1])}, {"combine --format ", "json"}, {"combine --metrics good", "goodput"}} {
		var stdout bytes.Buffer
		app := cli.New(result.Build{Version: "test"})
		app.Stdout, app.Stderr = &stdout, &stdout
		must.Equal(t, 0, app.Main(t.Context(), append([]string{"__complete"}, strings.Split(c[0], " ")...)))
		must.Contain(t, stdout.String(), c[1])
	}
}
