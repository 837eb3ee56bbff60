package owncost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"tare/bench/harness"
	"tare/internal/testkit/synthetic"
)

// Reports measures the rendering of a report: for a run of the standard profile's size,
// and for one with 20 000 trials.
func Reports(ctx context.Context, b harness.Options) error {
	harness.Title("Rendering a report")
	harness.Columns("run", "trials", "wall, median of 5", "CPU", "peak resident", "report.html")
	for _, r := range []struct {
		name  string
		shape synthetic.Shape
	}{{"standard", synthetic.Standard()}, {"very many trials", synthetic.Huge()}} {
		if err := rendered(ctx, b, r.name, r.shape); err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

// rendered prints the line of one run.
func rendered(ctx context.Context, b harness.Options, name string, shape synthetic.Shape) (err error) {
	top, err := os.MkdirTemp("", "tare-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	r, err := render(ctx, b, shape, filepath.Join(top, "run"))
	if err != nil {
		return err
	}
	fmt.Printf("| %s | %d | %.2f s | %.2f s | %.0f MB | %.0f kB |\n", name, shape.Trials(), r.wall, r.cpu, float64(r.peak)/1e6, float64(r.size)/1e3)
	return nil
}

// rendering is what reports of one run took: medians of seconds, and bytes.
type rendering struct {
	wall, cpu  float64
	peak, size int64
}

// render writes a generated run into a directory and reports it five times.
func render(ctx context.Context, b harness.Options, shape synthetic.Shape, dir string) (r rendering, err error) {
	if err := shape.Write(dir); err != nil {
		return r, err
	}
	var wall, cpu []float64
	for range 5 {
		cmd := exec.CommandContext(ctx, b.Tare, "report", dir)
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return r, fmt.Errorf("%v: %w: %s", cmd.Args, err, out)
		}
		wall = append(wall, time.Since(began).Seconds())
		cpu = append(cpu, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		if used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			r.peak = max(r.peak, used.Maxrss<<10)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "report.html"))
	if err != nil {
		return r, err
	}
	r.wall, r.cpu, r.size = harness.Median(wall), harness.Median(cpu), info.Size()
	return r, nil
}
