//go:build linux

package runner_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/drivertest"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/lab"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/runner"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/traffic"
)

// Where somebody looks, each mode's rate is told while its trial goes on, of modes that
// take turns as of those that do not.
func TestProgress(t *testing.T) {
	if testing.Short() {
		t.Skip("real runs are left out of the short tests")
	}
	drivertest.NeedLab(t)
	claim, err := lab.Standalone()
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	dir, err := store.Create(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	modes := []string{"host", "netns/bridge"}
	heard := map[string]int{}
	var trial live.TrialStarted
	labs := &labdriver.Labs{Claim: claim, LabFor: func(string) study.Lab { return study.Lab{MTU: lab.DefaultMTU, Offload: study.On} }}
	run, err := runner.Run(ctx, runner.Config{
		Study: study.Study{
			Profile: study.Quick, Seed: 11, Modes: study.ModesOf(modes...), Blocks: 2, Margin: 0.1, Settle: study.WaitOf(10 * time.Millisecond),
			Lab: study.Lab{MTU: lab.DefaultMTU, Offload: study.On},
			// It would take half an hour.
			Workloads: []study.Workload{{
				ID: "rr", Kind: "tcp_rr", Flows: 1, RequestSize: 1, ResponseSize: 1, Family: study.IPv4, Congestion: "reno", SendBuffer: study.AutoBuffer(), ReceiveBuffer: study.AutoBuffer(),
				Placement: study.Free, Warmup: study.WaitOf(20 * time.Millisecond), Duration: study.Duration(10 * time.Minute), Slice: study.Duration(20 * time.Millisecond),
			}},
		},
		RunID: claim.ID, Drivers: driver.Registry{labdriver.On(labs, netns.Driver{})}, Dir: dir, Build: result.Build{Version: "test"},
		Ground: driver.HostInfo{Hosts: labdriver.Hosts(), CPUs: []int{0}}, Progress: traffic.MinProgressInterval,
		Listener: &listener{on: func(e live.Event) {
			switch e := e.(type) {
			case live.TrialStarted:
				trial = e
			case live.Progress:
				if heard[e.Mode]++; e.Workload != trial.Workload || e.Unit != "1/s" || e.Rate <= 0 || e.Elapsed <= 0 {
					t.Errorf("progress %+v during %+v", e, trial)
				}
				if heard[modes[0]] >= 2 && heard[modes[1]] >= 2 {
					enough()
				}
			}
		}},
	})
	if err != nil || run.Status != result.RunInterrupted || len(heard) != len(modes) {
		t.Errorf("the run is %s, and progress was told of %v: %v", run.Status, heard, err)
	}
}
