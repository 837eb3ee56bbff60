package harness

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/result"
	"tare/internal/store"
)

// Outcome is the result of one run of tare.
type Outcome struct {
	Run    result.Run
	Trials []result.Trial
	Wall   time.Duration
	// FirstRatios is when the run had provisional ratios, since its start: when
	// its third block began. 0 if it has fewer blocks.
	FirstRatios time.Duration
	Exit        int // 0, or Unfit
	Memory      Memory
}

// Unfit is the exit code of a run that was measured but is too noisy for verdicts.
const Unfit = 4

// RunFit is Run with an error if the run is too noisy for verdicts.
func (b Options) RunFit(ctx context.Context, study string, args ...string) (Outcome, error) {
	o, err := b.Run(ctx, study, args...)
	if err == nil && o.Exit != 0 {
		err = fmt.Errorf("tare run ended with exit code %d: the run is too noisy for verdicts", o.Exit)
	}
	return o, err
}

// Run runs a study in a new directory and reads the results back, noisy or not.
func (b Options) Run(ctx context.Context, study string, args ...string) (Outcome, error) {
	dir, err := os.MkdirTemp("", "tare-bench-")
	if err != nil {
		return Outcome{}, err
	}
	defer os.RemoveAll(dir)
	if study != "" {
		file := filepath.Join(dir, "study.yaml")
		if err := os.WriteFile(file, []byte(study), 0o600); err != nil {
			return Outcome{}, err
		}
		args = append([]string{file}, args...)
	}
	out := filepath.Join(dir, "run")
	cmd := exec.CommandContext(ctx, b.Tare, append(append([]string{"run"}, args...), "--json", "--out", out)...)
	// Killed at once, the run would leave its namespaces.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	progress := &progress{began: time.Now()} // stdout repeats run.json
	cmd.Stderr = progress
	if b.Verbose {
		cmd.Stderr = io.MultiWriter(progress, os.Stderr)
	}
	watch := watchMemory(out)
	err = cmd.Run()
	o := Outcome{Wall: time.Since(progress.began), FirstRatios: progress.third, Memory: watch.stop()}
	if err != nil {
		if o.Exit = cmd.ProcessState.ExitCode(); o.Exit != Unfit {
			return o, fmt.Errorf("%v: %w\n%s", cmd.Args, err, progress.text.Bytes())
		}
	}
	if o.Memory.Controller == 0 {
		return o, fmt.Errorf("%v: no process of it was seen, so that its memory is unknown", cmd.Args)
	}
	d, err := store.Open(out)
	if err != nil {
		return o, err
	}
	defer d.Close()
	o.Run, o.Trials, err = d.Load()
	return o, err
}

// progress keeps what a run writes to stderr, and when its third block began.
type progress struct {
	began time.Time
	third time.Duration
	text  bytes.Buffer
}

func (p *progress) Write(b []byte) (int, error) {
	n, err := p.text.Write(b)
	if p.third == 0 && bytes.Contains(p.text.Bytes(), []byte("\nblock 3 of ")) {
		p.third = time.Since(p.began)
	}
	return n, err
}

// Cell finds a cell of a run.
func (o Outcome) Cell(mode, workload, metric string) (result.Cell, error) {
	i := slices.IndexFunc(o.Run.Cells, func(c result.Cell) bool {
		return c.Mode == mode && c.Workload == workload && c.Metric == metric
	})
	if i < 0 {
		return result.Cell{}, fmt.Errorf("the run has no cell %s %s %s", mode, workload, metric)
	}
	return o.Run.Cells[i], nil
}

// Values are the values of one metric in a mode's ok trials, in order.
func (o Outcome) Values(mode, workload, metric string) []float64 {
	var vs []float64
	for _, t := range o.Trials {
		if v, ok := t.Metrics[metric]; ok && t.Mode == mode && t.Workload == workload && t.Status == result.TrialOK {
			vs = append(vs, v)
		}
	}
	return vs
}

// Memory is the maximum resident memory of a controller and an agent, in bytes.
type Memory struct{ Controller, Agent int }

// memoryWatch periodically reads the peaks of the processes of the run with an output directory, and of
// its agents: a process keeps its own high-water mark, so that no peak is missed.
type memoryWatch struct {
	out  string
	done chan struct{}
	wg   sync.WaitGroup
	most Memory
}

func watchMemory(out string) *memoryWatch {
	w := &memoryWatch{out: out, done: make(chan struct{})}
	w.wg.Go(func() {
		for {
			w.look()
			select {
			case <-w.done:
				return
			case <-time.After(300 * time.Millisecond):
			}
		}
	})
	return w
}

func (w *memoryWatch) stop() Memory {
	close(w.done)
	w.wg.Wait()
	return w.most
}

// peak finds the parent of a process and its most resident memory in its status.
var peak = regexp.MustCompile(`(?s)PPid:\s+(\d+)\n.*VmHWM:\s+(\d+) kB`)

func (w *memoryWatch) look() {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	controllers, agents := map[string]bool{}, map[string]int{} // by process id; the most of an agent by its parent's
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue
		}
		args := strings.Split(string(line), "\x00")
		if len(args) < 2 {
			continue
		}
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		m := peak.FindSubmatch(status)
		if err != nil || m == nil {
			continue
		}
		kb, _ := strconv.Atoi(string(m[2]))
		switch {
		case filepath.Base(args[0]) == "tare" && args[1] == transport.AgentCommand:
			agents[string(m[1])] = max(agents[string(m[1])], kb<<10)
		case slices.Contains(args, w.out):
			controllers[filepath.Base(dir)] = true
			w.most.Controller = max(w.most.Controller, kb<<10)
		}
	}
	for pid := range controllers {
		w.most.Agent = max(w.most.Agent, agents[pid])
	}
}
