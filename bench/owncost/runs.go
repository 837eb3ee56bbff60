package owncost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"tare/bench/harness"
	"tare/internal/testkit/synthetic"
)

// manyRuns is the number of runs that a directory has after 27 years of nightly ones, and fewRuns after more than a
// year.
const (
	manyRuns = 10_000
	fewRuns  = 500
)

// Runs measures the listing of runs of the standard profile's size, and their history.
func Runs(ctx context.Context, b harness.Options) (err error) {
	harness.Title("A directory with many runs")
	harness.Columns("what", "wall, median", "CPU", "peak resident")
	for _, n := range []int{fewRuns, manyRuns} {
		if err := runsIn(ctx, b, n); err != nil {
			return err
		}
	}
	return nil
}

func runsIn(ctx context.Context, b harness.Options, runs int) (err error) {
	top, err := os.MkdirTemp("", "tare-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	if err := (synthetic.Many{Shape: synthetic.Standard(), Runs: runs, Spread: 0.01}).Write(top); err != nil {
		return err
	}
	if err := called(ctx, b, runs, 5, runs+1, "ls", top); err != nil {
		return err
	}
	return called(ctx, b, runs, 3, 1, "history", top)
}

// called prints the line of several calls of tare, each of which prints so many lines or more.
func called(ctx context.Context, b harness.Options, runs, times, lines int, args ...string) error {
	var wall, cpu []float64
	peak := int64(0)
	for range times {
		cmd := exec.CommandContext(ctx, b.Tare, args...)
		began := time.Now()
		out, err := cmd.Output()
		if n := strings.Count(string(out), "\n"); err != nil || n < lines {
			return fmt.Errorf("%v: %w: %d lines", cmd.Args, err, n)
		}
		wall = append(wall, time.Since(began).Seconds())
		cpu = append(cpu, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		if used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = max(peak, used.Maxrss<<10)
		}
	}
	fmt.Printf("| `tare %s` of %d runs | %.2f s | %.2f s | %.0f MB |\n", args[0], runs, harness.Median(wall), harness.Median(cpu), float64(peak)/1e6)
	return nil
}
