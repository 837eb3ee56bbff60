package owncost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tare/bench/harness"
	"tare/internal/store"
	"tare/internal/synthetic"
)

// manyRuns is the number of runs that a directory should serve without a wait.
const manyRuns = 10_000

// Runs measures the listing of 10 000 runs of the standard profile's size, and reading what
// their history needs: without an index, which the listing then writes, and with one.
func Runs(ctx context.Context, b harness.Options) (err error) {
	top, err := os.MkdirTemp("", "tare-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	if err := (synthetic.Many{Shape: synthetic.Standard(), Runs: manyRuns, Spread: 0.01}).Write(top); err != nil {
		return err
	}
	select { // the index has no run that has just changed
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(3 * time.Second):
	}
	harness.Title(fmt.Sprintf("A directory with %d runs", manyRuns))
	harness.Columns("what", "wall, median of 5", "CPU", "peak resident")
	index := filepath.Join(top, store.IndexFile)
	without := func() error {
		if err := os.Remove(index); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := listed(ctx, b, "tare ls, without an index", top, without); err != nil {
		return err
	}
	if err := listed(ctx, b, "tare ls, with one", top, func() error { return nil }); err != nil {
		return err
	}
	var wall []float64
	for range 5 {
		began, cells := time.Now(), 0
		err := store.EachRecord(top, func(store.Summary) bool { return true }, func(r store.Record) error {
			cells += len(r.Run.Cells)
			return nil
		})
		if err != nil || cells == 0 {
			return fmt.Errorf("read %d ratios: %w", cells, err)
		}
		wall = append(wall, time.Since(began).Seconds())
	}
	fmt.Printf("| all ratios for a history, with an index | %.2f s | | |\n", harness.Median(wall))
	info, err := os.Stat(index)
	if err != nil {
		return err
	}
	fmt.Printf("\nThe index has %.0f MB.\n\n", float64(info.Size())/1e6)
	return nil
}

// listed prints the line of five listings.
func listed(ctx context.Context, b harness.Options, what, top string, prepare func() error) error {
	var wall, cpu []float64
	peak := int64(0)
	for range 5 {
		if err := prepare(); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, b.Tare, "ls", top)
		began := time.Now()
		out, err := cmd.Output()
		if lines := strings.Count(string(out), "\n"); err != nil || lines != manyRuns+1 {
			return fmt.Errorf("%v: %w: %d lines", cmd.Args, err, lines)
		}
		wall = append(wall, time.Since(began).Seconds())
		cpu = append(cpu, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		if used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = max(peak, used.Maxrss<<10)
		}
	}
	fmt.Printf("| %s | %.2f s | %.2f s | %.0f MB |\n", what, harness.Median(wall), harness.Median(cpu), float64(peak)/1e6)
	return nil
}
