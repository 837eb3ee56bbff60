package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tare/internal/cli"
	"tare/internal/driver/subcommand"
	"tare/internal/hosts"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/synthetic"
	"tare/internal/testkit/testns"
)

// The test binary is also the program: called as tare, it is tare. Whatever it is
// called, it is what runs in sandboxes and engines that tests make themselves.
func TestMain(m *testing.M) {
	kubetest.First()
	if len(os.Args) == 2 && os.Args[1] == fillCommand {
		fillMemory()
	}
	testns.First()
	done, err := subcommand.Run(context.Background(), os.Args, "test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if done {
		return
	}
	testscript.Main(inNamespaces{m}, map[string]func(){"tare": tare, "docker-tare": tare, "kubectl-tare": tare, notTare: func() {
		os.Exit(cli.New(result.Build{}).Main(context.Background(), os.Args[1:]))
	}})
}

// notTare is a program that has App and is another one, as a test program is.
const notTare = "not-tare"

// inNamespaces runs the tests in namespaces of their own: they list all runs and remove dead
// ones.
type inNamespaces struct{ *testing.M }

func (m inNamespaces) Run() int {
	return testns.Main(context.Background(), func() int {
		// Below nohup every program that a test starts would ignore it, too.
		if signal.Ignored(syscall.SIGHUP) {
			signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		}
		return m.M.Run()
	})
}

func tare() {
	app := cli.New(result.Build{Version: "test", Commit: "0123456"})
	app.Date, app.Program = "2026-11-20T12:00:00Z", os.Args[0]
	// Else a run without a study would measure what this machine has.
	app.Look = func(context.Context) hosts.Found { return hosts.Found{Private: errors.New("a test has none")} }
	app.Plugin, app.Kubectl = cli.IsPlugin(os.Args[0]), cli.IsKubectlPlugin(os.Args[0])
	code := app.Main(context.Background(), os.Args[1:])
	if file := os.Getenv(peakFile); file != "" {
		status, err := os.ReadFile("/proc/self/status")
		if err := errors.Join(err, os.WriteFile(file, status, 0o600)); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// peakFile is the variable with the file to which the program writes its memory at its end.
// What the kernel tells of a process that has ended includes what its parent had.
const peakFile = "TARE_TEST_PEAK"

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Condition: func(cond string) (bool, error) {
			if cond != "lab" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return !testing.Short() && canMakeLabs(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"fill":   fill,
			"many":   many,
			"plugin": plugin,
			"clean":  clean,
		},
		Setup: func(e *testscript.Env) error {
			root, err := filepath.Abs("../..")
			e.Setenv("ROOT", root)
			program, perr := exec.LookPath("tare")
			e.Setenv("BIN", filepath.Dir(program)) // with the commands of the tests alone
			return errors.Join(err, perr)
		},
		RequireUniqueNames: true,
	})
}

// canMakeLabs: as we are, or in a user namespace.
func canMakeLabs() bool {
	return linuxnet.Try() == nil || exec.Command("unshare", "-Urn", "true").Run() == nil
}

// exits CODE COMMAND ARGS...: the command ends with that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != want {
		ts.Fatalf("%v ended with %d, want %d", args[1:], code, want)
	}
}

// fill FILE BYTES: writes a file of comment lines.
func fill(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	data := make([]byte, 0, n)
	for len(data) < n {
		data = append(data, "# nothing\n"...)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}

// many DIR RUNS FROM STEP: writes synthetic runs of one study whose ratios vary by 0.5 % from run
// to run, and all change by a factor from a run on.
func many(ts *testscript.TestScript, _ bool, args []string) {
	runs, err := strconv.Atoi(args[1])
	ts.Check(err)
	from, err := strconv.Atoi(args[2])
	ts.Check(err)
	step, err := strconv.ParseFloat(args[3], 64)
	ts.Check(err)
	ts.Check(os.MkdirAll(ts.MkAbs(args[0]), 0o700))
	ts.Check(synthetic.Many{Shape: synthetic.Shape{Modes: 3, Blocks: 12, Seed: 7}, Runs: runs, Spread: 0.005, Step: step, From: from}.Write(ts.MkAbs(args[0])))
}

// clean DIR: gc finds nothing of that run, whatever others have left.
func clean(ts *testscript.TestScript, _ bool, args []string) {
	var run result.Run
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(filepath.Join(args[0], store.RunFile))), &run))
	ts.Check(ts.Exec("tare", "gc", "--dry-run"))
	if found := ts.ReadFile("stdout"); run.ID == "" || strings.Contains(found, run.ID) {
		ts.Fatalf("of run %q is left:\n%s", run.ID, found)
	}
}

// plugin DIR: puts the program where the docker command with that configuration looks
// for its plugins.
func plugin(ts *testscript.TestScript, _ bool, args []string) {
	dir := filepath.Join(ts.MkAbs(args[0]), "cli-plugins")
	ts.Check(os.MkdirAll(dir, 0o700))
	for _, path := range filepath.SplitList(ts.Getenv("PATH")) {
		program := filepath.Join(path, "docker-tare")
		if _, err := os.Stat(program); err == nil {
			ts.Check(os.Symlink(program, filepath.Join(dir, "docker-tare")))
			return
		}
	}
	ts.Fatalf("docker-tare is not in PATH")
}

// fillCommand is a hidden command of this program that uses all memory of a pod.
const fillCommand = "kube-fill"

// fillMemory writes to a file system in memory until it is killed.
func fillMemory() {
	file, err := os.Create("/dev/shm/fill")
	for b := make([]byte, 1<<20); err == nil; {
		_, err = file.Write(b)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
