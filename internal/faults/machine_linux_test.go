//go:build linux

package faults

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/testkit/testns"
)

// The tests of this package run in namespaces of their own, one test in each: a machine on
// which nothing else runs. What other programs do on the real machine then changes no
// snapshot, whatever a run leaves is seen, and no fault reaches the real machine.

// program is the program under test, on such a machine.
const program = testns.Scratch + "/bin/tare"

// onMachine reports whether the test runs on its own machine. If not, it runs the test of
// this name there, beside those of other names.
func onMachine(t *testing.T) bool {
	t.Helper()
	if testns.Inside() {
		own := must.Get(os.Executable())(t)
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(program), 0o755), os.Symlink(own, program)))
		return true
	}
	testneed.NotShort(t)
	if !linuxnet.RealRoot() {
		testneed.Missing(t, testneed.Root, "a machine for faults has namespaces and mounts")
	}
	t.Parallel()
	var args []string
	for _, a := range os.Args[1:] {
		if !strings.HasPrefix(a, "-test.run=") && !strings.HasPrefix(a, "-test.v") && !strings.HasPrefix(a, "-test.paniconexit0") {
			args = append(args, a)
		}
	}
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- testns.Run(t.Context(), append(args, "-test.v", "-test.run=^"+t.Name()+"$"), in, in)
		in.Close()
	}()
	skipped, at := "", ""
	said, failed := map[string][]string{}, []string(nil) // by the name of a test
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		_, _ = fmt.Fprintln(t.Output(), line) // below its own name: the tests of this package run beside each other
		if name, ok := strings.CutPrefix(line, "=== RUN   "); ok {
			at = name
		} else if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok {
			failed = append(failed, strings.Fields(name)[0])
		} else {
			said[at] = append(said[at], line)
		}
		if _, why, ok := strings.Cut(line, ": needs "); ok { // the message of testneed
			skipped = "needs " + why
		}
	}
	switch err := <-done; {
	case err != nil:
		for _, name := range failed { // once more, without what passed
			if text := strings.Trim(strings.Join(said[name], "\n"), "\n"); text != "" {
				err = fmt.Errorf("%w\n%s:\n%s", err, name, text)
			}
		}
		t.Error(err)
	case skipped != "":
		t.Skip(skipped)
	}
	return false
}

// mount is mount(2) with an error that names the place.
func mount(from, to, kind string, flags uintptr, data string) error {
	if err := unix.Mount(from, to, kind, flags, data); err != nil {
		return fmt.Errorf("mount %s at %s (type %q, options %q): %w", from, to, kind, data, err)
	}
	return nil
}

// run runs a program to its end, and gives its output with an error.
func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
