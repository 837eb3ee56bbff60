package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/cli"
	"tare/internal/must"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/synthetic"
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

func TestCombineTry(t *testing.T) {
	runs := onMachines(t, 0.04, "Xeon 8481C", "EPYC 9654", "Xeon 8481C", "Altra Q80", "EPYC 9654")
	out, told, code := combineRuns(t, append(runs, "--html", "/tmp/forest.html")...)
	fmt.Println(code, told)
	fmt.Println(strings.ReplaceAll(out, filepath.Dir(runs[0]), "tare-runs"))
	out, told, code = combineRuns(t, append(runs, "--full", "--metrics", "goodput,transaction_rate")...)
	fmt.Println(code, told)
	fmt.Println(strings.ReplaceAll(out, filepath.Dir(runs[0]), "tare-runs"))
	out, told, code = combineRuns(t, append(runs[:2], "--format", "md")...)
	fmt.Println(code, told)
	fmt.Println(strings.ReplaceAll(out, filepath.Dir(runs[0]), "tare-runs"))
}
