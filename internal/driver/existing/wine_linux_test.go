package existing_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/engine/private"
	"tare/internal/program/agentfile"
	"tare/internal/result"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/winetest"
)

// desktopStudy is what a user of Docker Desktop measures, in the shortest form.
const desktopStudy = `
name: desktop
seed: 1
blocks: 2
settle: 10ms
pilot: 0s
engine: tcp://127.0.0.1:2375
modes: [host-local, docker/host, docker/published]
invalid: {steal: off, others: off, unsettled: off, most: off}
workloads:
  - {workload: tcp_stream, duration: 200ms, warmup: 50ms, slice: 1s, write_size: 1400}
  - {workload: tcp_rr, duration: 200ms, warmup: 50ms, slice: 1s, request_size: 4000, response_size: 4000}
  - {workload: udp_stream, duration: 200ms, warmup: 50ms, slice: 1s, payload_size: 1400, rate: 20Mbit/s}
`

// The Windows program measures from a desktop: its processes are Windows', the engine is a
// Linux one behind a port of the loopback device, and so are its containers' programs.
func TestWineDesktop(t *testing.T) {
	t.Parallel()
	winetest.Need(t)
	drivertest.NeedEngine(t)
	l := drivertest.Lab(t, nil)
	engine := must.Get(private.Start(t.Context(), l, l.A, "-H", "tcp://127.0.0.1:2375"))(t)
	t.Cleanup(func() { must.Do(t, engine.Close()) })
	program := winetest.Program(t)
	dir := filepath.Dir(program)
	build := exec.CommandContext(t.Context(), "go", "build", "-tags="+agentfile.Tags(), "-trimpath", "-buildvcs=false", "-o", filepath.Join(dir, "tare-linux-amd64"), "tare/cmd/tare")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program of the containers: %v\n%s", err, out)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "study.yaml"), []byte(desktopStudy), 0o600))
	p := winetest.New(t, l.A.NS.Start)
	run := p.Process(program, "run", "study.yaml", "--out", "out")
	run.Cmd.Dir = dir
	var out strings.Builder
	run.Cmd.Stdout, run.Cmd.Stderr = &out, &out
	must.Do(t, p.Start(run))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	err := run.Wait(ctx)
	t.Logf("%v\n%s", err, out.String())

	ok := map[string]int{}
	file := must.Get(os.Open(filepath.Join(dir, "out", "trials.ndjson")))(t)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var trial result.Trial
		must.Do(t, json.Unmarshal(lines.Bytes(), &trial))
		if trial.Status == result.TrialOK {
			ok[trial.Mode+" "+trial.Workload]++
		}
		t.Logf("%s %s %s %s %v", trial.Mode, trial.Workload, trial.Status, trial.Reason, trial.Metrics)
	}
	for _, want := range []string{"host-local tcp_stream", "host-local tcp_rr", "docker/host tcp_stream", "docker/published tcp_stream", "docker/published tcp_rr", "host-local udp_stream", "docker/published udp_stream"} {
		if ok[want] != 2 {
			t.Errorf("%d of 2 trials of %s succeeded", ok[want], want)
		}
	}
	if left, err := engine.Leftovers(context.Background(), nil); err != nil || len(left) != 0 {
		t.Errorf("left on the engine: %v, %v", left, err)
	}
}
