// Package kubernetes measures runs on the two-node clusters of the tests: how long a run takes to
// begin and to end, the memory of its controller, what it exchanges with the agents in pods
// during a trial, a mode of the cluster against itself, and networks of pods against each other.
// The clusters belong to tests, so the measurements are benchmarks of package testing.
package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"

	"tare/bench/harness"
	"tare/internal/kube"
)

// optionsVariable is the environment variable with the options of a benchmark, as JSON.
const optionsVariable = "TARE_BENCH_OPTIONS"

// Kubernetes runs the benchmark of a run, which prints the table. It fails if a bound is exceeded.
func Kubernetes(ctx context.Context, b harness.Options) error { return benchmark(ctx, b, "Kubernetes") }

// AA measures a mode of a cluster against itself on the cluster of the tests, as method.AA does.
func AA(ctx context.Context, b harness.Options) error { return benchmark(ctx, b, "AA") }

// Networks measures the networks of pods, on a cluster with each in turn, and writes the ratios of each run as a table for tare judge.
func Networks(ctx context.Context, b harness.Options) error {
	file, err := filepath.Abs(b.NetworksFile)
	if err != nil {
		return err
	}
	b.NetworksFile = file
	return benchmark(ctx, b, "Networks")
}

// benchmark runs a benchmark of this package with the build tags of this program.
func benchmark(ctx context.Context, b harness.Options, name string) error {
	tare, err := filepath.Abs(b.Tare)
	if err != nil {
		return err
	}
	b.Tare = tare
	options, err := json.Marshal(b)
	if err != nil {
		return err
	}
	args := []string{"test", "-C", "bench", "-count=1", "-run=^$", "-bench=^Benchmark" + name + "$", "-benchtime=1x", "-timeout=6h"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-tags" {
				args = append(args, "-tags="+s.Value)
			}
		}
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./kubernetes")...)
	// Killed at once, it would leave its cluster.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(os.Environ(), kube.BinaryVariable+"="+tare, optionsVariable+"="+string(options))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run the benchmark: %w", err)
	}
	return nil
}
