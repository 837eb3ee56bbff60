//go:build linux

// Command fuzz runs every fuzz target of the repository, each for a time, and fails if one has a
// finding or takes too much memory:
//
//	go run ./scripts/fuzz [-time 60s] [-only REGEXP] [-jobs N]
//
// It prints a table with the inputs tried, the seconds and the peak memory of each target.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxMemory is how much resident memory a worker may take, in bytes: that of the parser, of Go's
// fuzzing and of an input together. maxMapped limits what it may map to write to, which is more,
// because Go maps in advance and returns nothing.
const (
	maxMemory = 256 << 20
	maxMapped = 2 * maxMemory
)

func main() {
	if isWorker() {
		os.Exit(work())
	}
	each := flag.Duration("time", time.Minute, "time for each target")
	only := flag.String("only", "", "run only targets whose PACKAGE.NAME matches this regular expression")
	jobs := flag.Int("jobs", runtime.NumCPU(), "targets to run at once, each on one CPU")
	flag.Parse()
	if flag.NArg() > 0 || *each <= 0 || *jobs < 1 {
		fmt.Fprintln(os.Stderr, "fuzz: the only arguments are -time, -only and -jobs, all positive")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := fuzz(ctx, *each, *only, *jobs); err != nil {
		fmt.Fprintf(os.Stderr, "fuzz: %v\n", err)
		stop()
		os.Exit(1)
	}
}

func fuzz(ctx context.Context, each time.Duration, only string, jobs int) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("parse -only: %w", err)
	}
	all, err := find(".")
	if err != nil {
		return fmt.Errorf("find the targets: %w", err)
	}
	all = slices.DeleteFunc(all, func(t target) bool { return !match.MatchString(t.String()) })
	if len(all) == 0 {
		return fmt.Errorf("no target matches %q", only)
	}
	temp, err := os.MkdirTemp("", "tare-fuzz-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	fmt.Printf("%d targets, %s each, at most %d MB, %d at once\n", len(all), each, maxMemory>>20, jobs)
	fmt.Printf("%-44s %12s %8s %8s\n", "target", "inputs", "seconds", "peak MB")
	return runAll(ctx, all, each, jobs, temp)
}

// runAll builds and runs the targets, a number of them at once, and prints a line as each ends.
func runAll(ctx context.Context, all []target, each time.Duration, jobs int, temp string) error {
	var mu sync.Mutex
	var total int64
	var failed []string
	free := make(chan struct{}, jobs)
	var group sync.WaitGroup
	b := binaries{dir: temp, built: map[string]string{}}
	for _, t := range all {
		var err error
		if t.binary, err = b.of(ctx, t.dir); err != nil {
			group.Wait()
			return err
		}
		if ctx.Err() != nil {
			break
		}
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			got, err := t.run(ctx, each, filepath.Join(temp, "cache"))
			mu.Lock()
			defer mu.Unlock()
			total += got.inputs
			fmt.Printf("%-44s %12d %8.1f %8.1f\n", t, got.inputs, got.took.Seconds(), float64(got.peak)/(1<<20))
			if err != nil {
				fmt.Fprintf(os.Stderr, "fuzz: %s: %v\n", t, err)
				failed = append(failed, t.String())
			}
		})
	}
	group.Wait()
	fmt.Printf("%-44s %12d\n", "all", total)
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d targets failed: %s", len(failed), len(all), strings.Join(failed, ", "))
	}
	return nil
}
