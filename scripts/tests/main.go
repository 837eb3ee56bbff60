// Command tests runs the tiers of tests and the stages of the last one. It sets up what they need, runs them
// through go test, compares the machine before and after, and says what passed, failed and was skipped, by reason.
//
//	go run ./scripts/tests [-yes] STAGE...
//	go run ./scripts/tests [-count N] [-run REGEXP] flaky PACKAGE...
//
// Of each stage it writes bin/tests/STAGE.xml (JUnit), STAGE.json (events of go test) and STAGE.md. Its last line is
// the sum of all stages. It exits with 1 if a test failed, a test changed the machine, or, in CI, a part of
// the set-up is missing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/testkit/testneed"
	"tare/internal/testkit/testns"
	"tare/internal/timelimit"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tests:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	yes   bool
	count int
	only  string
	tags  string
	race  bool
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.BoolVar(&o.yes, "yes", os.Getenv("CI") != "", "install packages of this system that a stage needs; always in CI")
	flag.IntVar(&o.count, "count", 50, "how often flaky runs a package")
	flag.StringVar(&o.only, "run", "", "regular expression of the tests, as of go test")
	flag.StringVar(&o.tags, "tags", "", "build tags, as of go test")
	flag.BoolVar(&o.race, "race", false, "use the race detector, which requires a C compiler; tests are their own agents")
	flag.Parse()
	if flag.NArg() == 0 {
		return fmt.Errorf("which stage? one of %s", strings.Join(stageNames(), ", "))
	}
	if flag.Arg(0) == "flaky" {
		return flaky(ctx, o, flag.Args()[1:])
	}
	var chosen []stage
	for _, name := range flag.Args() {
		i := slices.IndexFunc(stages(), func(s stage) bool { return s.name == name })
		if i < 0 {
			return fmt.Errorf("no stage %q: one of %s", name, strings.Join(stageNames(), ", "))
		}
		chosen = append(chosen, stages()[i])
	}
	if len(chosen) > 1 && slices.Contains(flag.Args(), "live") {
		return errors.New("live judges the machine: it runs without other stages")
	}
	all, err := packages(".")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(outDir, 0o755); err != nil {
		return err
	}
	total, err := runAll(ctx, o, chosen, all)
	if ctx.Err() != nil {
		return errors.Join(errors.New("interrupted"), err, sweep())
	}
	if err != nil {
		return err
	}
	for _, c := range total.changed {
		fmt.Println("the machine changed:", c)
	}
	fmt.Printf("%d passed, %d failed, %d skipped in %s\n", total.passed, total.failed, total.skippedCount(), total.took.Round(time.Second))
	if !total.green() {
		return errors.New("not green")
	}
	return nil
}

// runAll runs stages, those of a lane one after another and the lanes at once, and compares the machine before and
// after. What may install packages is set up before any test.
func runAll(ctx context.Context, o options, chosen []stage, all []pkg) (total tally, err error) {
	began := time.Now()
	before, err := machine()
	if err != nil {
		return total, err
	}
	lanes := map[int][]func() error{}
	var mu sync.Mutex
	installs := slices.ContainsFunc(chosen, func(s stage) bool { return s.installs })
	for _, s := range chosen {
		prepare := func() setUp { return s.prepare(ctx, o.yes) }
		if installs {
			ready := prepare()
			prepare = func() setUp { return ready }
		}
		lanes[s.lane] = append(lanes[s.lane], func() error {
			t, err := s.run(ctx, o, all, prepare)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			total.add(t)
			return nil
		})
	}
	if installs {
		if before, err = machine(); err != nil {
			return total, err
		}
	}
	var running sync.WaitGroup
	var failed error
	for _, lane := range lanes {
		running.Go(func() {
			for _, run := range lane {
				if err := run(); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
				}
				if ctx.Err() != nil {
					return
				}
			}
		})
	}
	running.Wait()
	after, err := machine()
	total.changed, total.took = before.differences(after), time.Since(began)
	return total, errors.Join(failed, err)
}

// sweep removes what interrupted tests have left on this machine: they ended without their clean-up.
func sweep() error {
	cmd := exec.CommandContext(context.Background(), "go", "run", "-trimpath", "./cmd/tare", "gc")
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(nil), os.Stderr, os.Stderr
	if err := errors.Join(cmd.Run(), testns.Sweep()); err != nil {
		return fmt.Errorf("remove what the tests left: %w; repeat it with tare gc", err)
	}
	return nil
}

func stageNames() []string {
	var out []string
	for _, s := range stages() {
		out = append(out, s.name)
	}
	return out
}

// outDir receives the results of stages.
const outDir = "bin/tests"

// run runs a stage and prints its result. An error means that it could not be run.
func (s stage) run(ctx context.Context, o options, all []pkg, prepare func() setUp) (t tally, err error) {
	began := time.Now()
	fmt.Printf("== %s: %s\n", s.name, s.about)
	var ready setUp
	var preparing sync.WaitGroup
	preparing.Go(func() { ready = prepare() })
	report, err := newReport(ctx, s.name)
	if err != nil {
		return t, err
	}
	// Short tests need no set-up.
	each := func(short bool) error {
		var running sync.WaitGroup
		errs := make([]error, len(s.groups))
		for i, g := range s.groups {
			if pkgs := g.pkgs(all); g.short == short && len(pkgs) > 0 && ctx.Err() == nil {
				running.Go(func() { errs[i] = g.test(ctx, o, pkgs, ready.path, report) })
				if !s.atOnce {
					running.Wait()
				}
			}
		}
		running.Wait()
		return errors.Join(errs...)
	}
	failed := each(true)
	preparing.Wait()
	failed = errors.Join(failed, each(false))
	if err := errors.Join(failed, report.close(&t)); err != nil {
		return t, err
	}
	t.unset, t.took, t.settingUp = ready.failed, time.Since(began), ready.took
	return t, t.write(s.name)
}

// setUp is what scripts/setup-tests gave.
type setUp struct {
	path   []string // directories of programs
	failed string   // why the set-up is not complete; empty if it is
	took   time.Duration
}

// incomplete is the exit code of scripts/setup-tests for a part that could not be set up.
const incomplete = 3

// prepare sets up what the stage needs.
func (s stage) prepare(ctx context.Context, yes bool) (u setUp) {
	if !s.setUp {
		return u
	}
	began := time.Now()
	args := []string{s.name}
	if s.name == "live" {
		args = []string{"test"}
	}
	if yes {
		args = append([]string{"--yes"}, args...)
	}
	cmd := exec.CommandContext(ctx, "scripts/setup-tests", args...)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	out, err := cmd.Output()
	u.took = time.Since(began)
	for line := range strings.Lines(string(out)) {
		if dir := strings.TrimSpace(line); filepath.IsAbs(dir) {
			u.path = append(u.path, dir)
		}
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == incomplete:
		u.failed = "a part is not set up; see above"
	case err != nil:
		u.failed = fmt.Sprintf("scripts/setup-tests %s: %v", s.name, err)
	}
	return u
}

// environment is that of go test: the programs that were set up first in PATH, limits that only end a hang ten
// times as long, a fixed seed of random inputs, and the kind of machine only where root can use what it has.
func environment(path []string) []string {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, testneed.Variable+"=") && os.Geteuid() != 0
	})
	for name, value := range map[string]string{timelimit.Variable: "10", "RAPID_SEED": "1", "RAPID_NOFAILFILE": "true"} {
		if os.Getenv(name) == "" {
			env = append(env, name+"="+value)
		}
	}
	path = append(slices.Clone(path), os.Getenv("PATH"), "/usr/sbin", "/sbin")
	return append(env, "CGO_ENABLED=0", "PATH="+strings.Join(path, string(os.PathListSeparator)))
}

// build are the flags with which go test builds. Tests run themselves in containers and guests without
// libraries, so that what needs C is linked statically.
func (o options) build() []string {
	if o.race {
		return []string{"-trimpath", "-vet=off", "-race", "-tags=netgo,osusergo", "-ldflags=-linkmode=external -extldflags=-static"}
	}
	return []string{"-trimpath", "-vet=off", "-tags=" + o.tags}
}

// test runs the tests of a group and passes their events to a report.
func (g group) test(ctx context.Context, o options, pkgs, path []string, r *report) error {
	fmt.Fprintf(os.Stderr, "-- %s: %d packages\n", g.about, len(pkgs))
	args := append([]string{"test", "-json", fmt.Sprintf("-p=%d", g.parallel), "-timeout=40m"}, o.build()...)
	if g.waits {
		args = append(args, fmt.Sprintf("-parallel=%d", 2*runtime.GOMAXPROCS(0)))
	}
	switch {
	case g.short:
		args = append(args, "-short")
	case o.only != "":
		args = append(args, "-count=1", "-run="+o.only)
	case g.run != "":
		args = append(args, "-count=1", "-run="+g.run)
	default:
		args = append(args, "-count=1", "-skip="+byName(words()...))
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkgs...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(path), &lines{to: r}, os.Stderr
	if o.race {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	inGroup(cmd)
	cmd.WaitDelay = time.Minute
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.failed.Store(true) // by its events, or because a package does not build
		return nil
	}
	return err
}
