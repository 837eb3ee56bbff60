// Package kubernetes measures runs on the two-node cluster of the tests: how long a run takes to
// begin and to end, the memory of its controller, and what it exchanges with the agents in pods
// during a trial. The cluster belongs to a test, so the measurements are a benchmark of package
// testing.
package kubernetes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"tare/bench/harness"
	"tare/internal/kube"
)

// Kubernetes runs the benchmark, which prints the table. It fails if a bound is exceeded.
func Kubernetes(ctx context.Context, b harness.Options) error {
	tare, err := filepath.Abs(b.Tare)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "./bench/kubernetes", "-count=1", "-run=^$", "-bench=.", "-benchtime=1x", "-timeout=30m")
	cmd.Env = append(os.Environ(), kube.BinaryVariable+"="+tare)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run the benchmark: %w", err)
	}
	return nil
}
