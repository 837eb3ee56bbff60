//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// target is a fuzz target of a package.
type target struct {
	dir, name string
	binary    string // the package's tests, instrumented
}

func (t target) String() string {
	return strings.TrimPrefix(filepath.ToSlash(t.dir), "internal/") + "." + t.name
}

// find returns the targets below a directory, by package and name.
func find(root string) (all []target, err error) {
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && path != root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				all = append(all, target{dir: filepath.Dir(path), name: f.Name.Name})
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return all, err
}

// binaries are the tests of the packages, built with the instrumentation for fuzzing.
type binaries struct {
	dir   string
	built map[string]string // by package
}

// of builds the tests of a package when they are first needed.
func (b binaries) of(ctx context.Context, pkg string) (string, error) {
	if binary := b.built[pkg]; binary != "" {
		return binary, nil
	}
	binary := filepath.Join(b.dir, strconv.Itoa(len(b.built))+".test")
	c := exec.CommandContext(ctx, "go", "test", "-c", "-fuzz=.", "-o", binary, "./"+filepath.ToSlash(pkg))
	c.Env = append(os.Environ(), "CGO_ENABLED=0") // the stacks of C's threads, 8 MB each, would count as memory
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the tests of %s: %w\n%s", pkg, err, out)
	}
	b.built[pkg] = binary
	return binary, nil
}

// outcome is what a target did.
type outcome struct {
	inputs int64
	took   time.Duration
	peak   int64 // resident memory, in bytes: the most of all its processes
}

// run fuzzes a target on one CPU, and runs an input on which it failed once more, because Go does
// not show why a process ended that did not report a failure itself.
func (t target) run(ctx context.Context, each time.Duration, cache string) (outcome, error) {
	report := filepath.Join(cache, t.dir, t.name+".peak")
	if err := os.MkdirAll(filepath.Dir(report), 0o700); err != nil {
		return outcome{}, err
	}
	c := t.command(ctx, report, "-test.run=^$", "-test.fuzz=^"+t.name+"$", "-test.fuzztime="+each.String(), "-test.fuzzminimizetime=1s",
		"-test.parallel=1", "-test.fuzzcachedir="+filepath.Join(cache, t.dir), "-test.timeout="+(each+10*time.Minute).String())
	began := time.Now()
	out, err := c.CombinedOutput()
	got := outcome{inputs: inputsOf(out), took: time.Since(began), peak: peakIn(report)}
	switch {
	case err != nil && !timeWasUp(out):
		if input := regexp.MustCompile(`testdata/fuzz/(\w+/\w+)`).FindSubmatch(out); input != nil {
			again := t.command(ctx, report, workerFlag, "-test.run=^"+strings.ReplaceAll(string(input[1]), "/", "$/^")+"$", "-test.fuzz=")
			again.Path = again.Args[0] // with the limits of a worker
			said, _ := again.CombinedOutput()
			out = append(out, head(said)...)
		}
		return got, fmt.Errorf("%w\n%s", err, tail(out))
	case got.inputs == 0:
		return got, fmt.Errorf("it tried no input\n%s", tail(out))
	case got.peak > maxMemory:
		return got, fmt.Errorf("it took %d MB of memory; at most %d are allowed", got.peak>>20, maxMemory>>20)
	case got.peak == 0:
		return got, errors.New("the system does not tell how much memory it took")
	}
	return got, nil
}

// command returns the package's tests with arguments. Their first argument is this program, which
// they start again for the process that runs the target.
func (t target) command(ctx context.Context, report string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, t.binary, args...)
	self, err := os.Executable()
	if c.Args[0] = self; err != nil {
		c.Err = err
	}
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // it then ends its own process
	c.WaitDelay = 10 * time.Second
	c.Dir = t.dir
	c.Env = append(os.Environ(), workerBinary+"="+t.binary, workerReport+"="+report, "GOMAXPROCS=1")
	return c
}

// timeWasUp reports whether a target failed only because its time was up while the worker was busy,
// which Go counts as a failure, without an input.
func timeWasUp(out []byte) bool {
	return bytes.Contains(out, []byte("\n    context deadline exceeded\n")) && !bytes.Contains(out, []byte("Failing input"))
}

// inputsOf returns how many inputs the output of a fuzz target says it has tried.
func inputsOf(out []byte) (n int64) {
	for _, m := range regexp.MustCompile(`execs: (\d+)`).FindAllSubmatch(out, -1) {
		if v, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
			n = v
		}
	}
	return n
}

// shownLines is how many lines of an output an error quotes.
const shownLines = 40

// tail returns the last lines of an output, in which a finding and the file of its input are.
func tail(out []byte) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-shownLines):], []byte("\n")))
}

// head returns the first lines of an output, in which Go's runtime says why it ended.
func head(out []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return bytes.Join(lines[:min(len(lines), shownLines/2)], []byte("\n"))
}
