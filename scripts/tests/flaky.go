package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// flaky runs the tests of packages many times beside programs that use every CPU, and prints how many of the runs
// failed, with the output of the first that did.
func flaky(ctx context.Context, o options, pkgs []string) error {
	if len(pkgs) == 0 {
		return errors.New("flaky: which package? for example ./internal/driver/netns")
	}
	dir, err := os.MkdirTemp("", "tare-tests-flaky-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	loaded, stop := context.WithCancel(ctx)
	defer stop()
	for range runtime.NumCPU() {
		go burn(loaded)
	}
	failures := 0
	for _, p := range pkgs {
		program := filepath.Join(dir, "test")
		build := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-c", "-o", program}, o.build(), []string{p})...)
		build.Env, build.Stdout, build.Stderr = environment(nil), os.Stdout, os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("flaky: build the tests of %s: %w", p, err)
		}
		args := []string{"-test.timeout=40m", "-test.skip=" + byName(words()...)}
		if o.only != "" {
			args = []string{"-test.timeout=40m", "-test.run=" + o.only}
		}
		failed, began := 0, time.Now()
		for i := range o.count {
			cmd := exec.CommandContext(ctx, program, args...)
			cmd.Dir, cmd.Env = p, environment(nil)
			out, err := cmd.CombinedOutput()
			if ctx.Err() != nil {
				return errors.New("flaky: interrupted")
			}
			if err != nil {
				if failed++; failed == 1 {
					fmt.Printf("%s: run %d: %v\n%s", p, i+1, err, out)
				}
			}
		}
		fmt.Printf("%s: %d of %d runs failed, %s a run\n", p, failed, o.count, (time.Since(began) / time.Duration(o.count)).Round(time.Millisecond))
		failures += failed
	}
	if failures > 0 {
		return errors.New("flaky: a run failed")
	}
	return nil
}

// burn uses a CPU until the context ends.
func burn(ctx context.Context) {
	for x := uint64(1); ctx.Err() == nil; {
		for range 1 << 16 {
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
}
