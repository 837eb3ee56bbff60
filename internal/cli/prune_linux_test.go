package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/cli"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
	"tare/internal/testkit/synthetic"
)

// prunedRun writes a run of a study on a machine that started so many days ago.
func prunedRun(t *testing.T, top, name, study, cpu string, days int, status result.RunStatus) {
	t.Helper()
	run := result.Run{
		Schema: result.Schema, ID: "1", Started: time.Now().Add(-time.Duration(days) * 24 * time.Hour), Status: status,
		Hosts: []result.Host{{Name: "a", Facts: []result.Fact{{Name: "cpu_model", Value: cpu}, {Name: "load_average", Value: name}}}},
	}
	data := must.Get(store.EncodeRun(run))(t)
	path := filepath.Join(top, name)
	must.Do(t, os.MkdirAll(path, 0o755))
	write(t, filepath.Join(path, store.RunFile), string(data))
	if study != "" {
		write(t, filepath.Join(path, store.StudyFile), fmt.Sprintf("name: %s\nseed: %d\n", study, days))
	}
}

// pruned runs tare with arguments and returns its exit code and output.
func pruned(args ...string) (exit int, stdout, stderr string) {
	var out, errs bytes.Buffer
	a := cli.New(result.Build{})
	a.Stdin, a.Stdout, a.Stderr = strings.NewReader(""), &out, &errs
	exit = a.Main(context.Background(), args)
	return exit, out.String(), errs.String()
}

func runsIn(t *testing.T, top string) (names []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(top))(t)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// manyStudies is a directory with runs of two studies on two machines, and with runs that
// must never be removed.
func manyStudies(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	complete := result.RunComplete
	for i, days := range []int{100, 80, 60, 40} {
		prunedRun(t, top, fmt.Sprint("a", i), "one", "Xeon", days, complete)
		prunedRun(t, top, fmt.Sprint("b", i), "one", "Epyc", days, complete)
	}
	prunedRun(t, top, "a-killed-old", "one", "Xeon", 90, result.RunInterrupted)
	prunedRun(t, top, "a-killed-new", "one", "Xeon", 50, result.RunInterrupted)
	prunedRun(t, top, "c0", "two", "Xeon", 1000, complete)
	prunedRun(t, top, "no-study", "", "Xeon", 1000, complete)
	prunedRun(t, top, "no-study-2", "", "Xeon", 1001, complete)
	runDir(t, top, "corrupt", "{", "", 0, 0)
	must.Do(t, os.Mkdir(filepath.Join(top, "no-run"), 0o755))
	return top
}

func TestPrune(t *testing.T) {
	t.Parallel()
	all := []string{"a-killed-new", "a-killed-old", "a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3", "c0", "corrupt", "no-run", "no-study", "no-study-2"}
	for _, c := range []struct {
		args string
		gone []string
	}{
		{"--keep 1", []string{"a-killed-new", "a-killed-old", "a0", "a1", "a2", "b0", "b1", "b2"}},
		{"--keep 2", []string{"a-killed-old", "a0", "a1", "b0", "b1"}},
		{"--keep 3", []string{"a-killed-old", "a0", "b0"}},
		{"--keep 4", nil},
		{"--older-than 70d", []string{"a-killed-old", "a0", "a1", "b0", "b1"}},
		{"--older-than 70d --keep 3", []string{"a-killed-old", "a0", "b0"}},
		{"--older-than 12w --keep 2", []string{"a-killed-old", "a0", "b0"}},
		{"--older-than 1h --keep 0", []string{"a-killed-new", "a-killed-old", "a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3", "c0"}},
		{"--older-than 36500d --keep 0", nil},
	} {
		t.Run(c.args, func(t *testing.T) {
			top := manyStudies(t)
			var size int64
			files := 0
			for _, name := range c.gone {
				for _, file := range []string{store.RunFile, store.StudyFile} {
					size += must.Get(os.Stat(filepath.Join(top, name, file)))(t).Size()
					files++
				}
			}
			args := append([]string{"prune", top}, strings.Fields(c.args)...)
			counts := fmt.Sprintf("%d of 14 runs, %d bytes in %d files", len(c.gone), size, files)
			exit, stdout, stderr := pruned(args...)
			must.True(t, exit == 0 && stderr == "" && strings.Count(stdout, "\n") == len(c.gone)+1 && (strings.Contains(stdout, "would remove "+counts) || len(c.gone) == 0),
				"exit %d\n%s%s", exit, stdout, stderr)
			if left := runsIn(t, top); !slices.Equal(left, all) {
				t.Fatalf("without --yes only %v are left", left)
			}
			would := strings.Split(strings.ReplaceAll(stdout, "would remove ", "removed "), "\n")
			exit, stdout, stderr = pruned(append(args, "--yes")...)
			if does := strings.Split(stdout, "\n"); !slices.Equal(would[:len(c.gone)], does[:len(c.gone)]) {
				t.Errorf("would remove %q, does remove %q", would, does)
			}
			must.True(t, exit == 0 && stderr == "" && (strings.Contains(stdout, "removed "+counts) || len(c.gone) == 0), "exit %d\n%s%s", exit, stdout, stderr)
			want := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(c.gone, name) })
			if left := runsIn(t, top); !slices.Equal(left, want) {
				t.Errorf("left %v, want %v", left, want)
			}
			if _, stdout, _ := pruned(append(args, "--yes")...); stdout != "nothing to remove\n" {
				t.Errorf("again: %s", stdout)
			}
		})
	}
}

// What must stay is named with the reason; the others go.
func TestPruneKeeps(t *testing.T) {
	t.Parallel()
	top := manyStudies(t)
	write(t, filepath.Join(top, "a1", "run.csv"), "an export of the user's")
	must.Do(t, os.Symlink("/etc", filepath.Join(top, "a2", "link")))
	write(t, filepath.Join(top, "a0", store.TrialsFile), "")
	busy := must.Get(store.OpenAppend(filepath.Join(top, "a0")))(t)
	defer busy.Close()
	for _, yes := range []string{"--yes=false", "--yes"} {
		exit, stdout, stderr := pruned("prune", top, "--keep", "1", yes)
		if exit != 0 || strings.Count(stderr, "kept: ") != 3 || !strings.Contains(stderr, "a0: in use by another tare process") || !strings.Contains(stderr, "a1: contains something that tare did not write: run.csv") || !strings.Contains(stderr, "a2: contains something that tare did not write: link") ||
			!strings.Contains(stdout, "5 of 14 runs") {
			t.Errorf("exit %d\n%s%s", exit, stdout, stderr)
		}
	}
	want := []string{"a0", "a1", "a2", "a3", "b3", "c0", "corrupt", "no-run", "no-study", "no-study-2"}
	if left := runsIn(t, top); !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}

// A run that a wrong clock dates in the future makes no real run old, and is named.
func TestPruneOfTheFuture(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for name, days := range map[string]int{"old": 2, "new": 1, "future": -3650, "far-future": -3651} {
		prunedRun(t, top, name, "one", "Xeon", days, result.RunComplete)
	}
	exit, stdout, stderr := pruned("prune", top, "--keep", "1", "--yes")
	must.True(t, exit == 0 && strings.Count(stderr, "future starts on 20") == 2 && strings.Contains(stdout, "removed 1 of 4 runs"), "exit %d\n%s%s", exit, stdout, stderr)
	must.Equal(t, []string{"far-future", "future", "new"}, runsIn(t, top))
}

func TestPruneUsage(t *testing.T) {
	top := manyStudies(t)
	t.Chdir(t.TempDir())
	t.Setenv("TARE_RUNS", "")
	for _, args := range [][]string{
		{"prune", top}, {"prune", top, "--yes"}, {"prune", top, "--keep", "0"}, {"prune", top, "--keep", "-1"}, {"prune", top, "--keep", "-1", "--older-than", "1d"},
		{"prune", top, "--older-than", "90"}, {"prune", top, "--older-than", "-1d"}, {"prune", top, "--older-than", "1y"}, {"prune", top, "--older-than", "9999999d"}, {"prune", top, "--older-than", "999999d", "--keep", "0"}, {"prune", top, "--older-than", "36501d"},
		{"prune", filepath.Join(top, "a0"), "--older-than", "1h", "--keep", "0", "--yes"}, {"prune", filepath.Join(top, "none"), "--keep", "1"}, {"prune", top, "--keep", "1", "x"},
	} {
		if exit, stdout, stderr := pruned(args...); exit != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d\n%s%s", args, exit, stdout, stderr)
		}
	}
	must.EqualFor(t, "left", 15, len(runsIn(t, top)))
	if exit, _, stderr := pruned("prune", "--keep", "1"); exit != 0 || !strings.Contains(stderr, "no runs yet") {
		t.Errorf("exit %d, %s", exit, stderr)
	}
}

// A corrupt run among many is named, and the others are shown;
// names that a terminal would act on are cleaned.
func TestManyRunsAndCorruptOnes(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	must.Do(t, (synthetic.Many{Shape: synthetic.Shape{Modes: 2, Blocks: 3, Seed: 1}, Runs: 60, Spread: 0.01}).Write(top))
	runDir(t, top, "corrupt", `{"schema":"tare.run/1","cells":[{]`, "", 0, 0)
	runDir(t, top, "later", `{"schema":"tare.run/2"}`, "", 0, 0)
	for name, text := range hostile() {
		hostileRun(t, filepath.Join(top, name+text), text)
	}
	var first string
	for range 2 {
		exit, stdout, stderr := pruned("ls", top)
		if first == "" {
			first = stdout
		}
		if exit != 0 || stderr != "" || stdout != first || unsafe(stdout) != "" || strings.Count(stdout, "\n") != 1+60+2+len(hostile()) ||
			strings.Count(stdout, "unreadable: ") != 2 || !strings.Contains(stdout, "corrupt/run.json: it was cut or edited") || !strings.Contains(stdout, "later/run.json: schema") {
			t.Errorf("exit %d: %s\n%s%s", exit, unsafe(stdout), stdout, stderr)
		}
	}
	exit, stdout, stderr := pruned("prune", top, "--keep", "5", "--yes")
	if exit != 0 || unsafe(stdout+stderr) != "" || !strings.Contains(stdout, "removed ") {
		t.Errorf("exit %d: %s\n%s%s", exit, unsafe(stdout+stderr), stdout, stderr)
	}
}
