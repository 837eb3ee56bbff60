package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/result"
	"tare/internal/store"
)

// outcome is one run of tare.
type outcome struct {
	run    result.Run
	trials []result.Trial
	wall   time.Duration
	exit   int // 0, or unfit
	memory memory
}

// unfit is how a run ends that was measured but is not fit to judge.
const unfit = 4

// weigh runs a study in a directory of its own and reads the results back. It is an
// error if the run is not fit to judge.
func (b bench) weigh(ctx context.Context, study string, args ...string) (outcome, error) {
	o, err := b.attempt(ctx, study, args...)
	if err == nil && o.exit != 0 {
		err = fmt.Errorf("tare run ended with exit code %d: measured, but not fit to judge", o.exit)
	}
	return o, err
}

// attempt is weigh for sections that count runs not fit to judge too.
func (b bench) attempt(ctx context.Context, study string, args ...string) (outcome, error) {
	dir, err := os.MkdirTemp("", "tare-bench-")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(dir)
	if study != "" {
		file := filepath.Join(dir, "study.yaml")
		if err := os.WriteFile(file, []byte(study), 0o600); err != nil {
			return outcome{}, err
		}
		args = append([]string{file}, args...)
	}
	out := filepath.Join(dir, "run")
	cmd := exec.CommandContext(ctx, b.tare, append(append([]string{"run"}, args...), "--json", "--out", out)...)
	var text bytes.Buffer // stdout is run.json once more
	cmd.Stderr = &text
	if b.aloud {
		cmd.Stderr = io.MultiWriter(&text, os.Stderr)
	}
	watch := watchMemory()
	began := time.Now()
	err = cmd.Run()
	o := outcome{wall: time.Since(began), memory: watch.stop()}
	if err != nil {
		if o.exit = cmd.ProcessState.ExitCode(); o.exit != unfit {
			return o, fmt.Errorf("%v: %w\n%s", cmd.Args, err, text.Bytes())
		}
	}
	d, err := store.Open(out)
	if err != nil {
		return o, err
	}
	defer d.Close()
	o.run, o.trials, err = d.Load()
	return o, err
}

// cell finds a cell of a run.
func (o outcome) cell(mode, workload, metric string) (result.Cell, error) {
	i := slices.IndexFunc(o.run.Cells, func(c result.Cell) bool {
		return c.Mode == mode && c.Workload == workload && c.Metric == metric
	})
	if i < 0 {
		return result.Cell{}, fmt.Errorf("the run has no cell %s %s %s", mode, workload, metric)
	}
	return o.run.Cells[i], nil
}

// halfWidth is the relative half-width of a ratio's interval, in the log domain
// where the interval is symmetric.
func halfWidth(c result.Cell) float64 {
	if c.RatioCI == nil {
		return math.NaN()
	}
	return math.Sqrt(c.RatioCI[1]/c.RatioCI[0]) - 1
}

// values are a mode's ok trials of one metric in the order they ran.
func (o outcome) values(mode, workload, metric string) []float64 {
	var vs []float64
	for _, t := range o.trials {
		if v, ok := t.Metrics[metric]; ok && t.Mode == mode && t.Workload == workload && t.Status == result.TrialOK {
			vs = append(vs, v)
		}
	}
	return vs
}

// cv is the coefficient of variation: sample standard deviation over mean.
func cv(vs []float64) float64 {
	var sum, squares float64
	for _, v := range vs {
		sum += v
	}
	mean := sum / float64(len(vs))
	for _, v := range vs {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares/float64(len(vs)-1)) / mean
}

func median(vs []float64) float64 {
	vs = slices.Sorted(slices.Values(vs))
	n := len(vs)
	if n == 0 {
		return math.NaN()
	}
	return (vs[(n-1)/2] + vs[n/2]) / 2
}
