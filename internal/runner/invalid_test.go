//go:build linux

package runner_test

import (
	"context"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/analysis"
	"tare/internal/driver"
	"tare/internal/driver/netns"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/study"
)

// hog starts a program that keeps a CPU busy and is not a child of this test, so that it
// does not belong to the run.
func hog(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!`).Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("end the program that kept a CPU busy: %v", err)
		}
	})
}

// limited is a short study at once, with a limit on what others use of a CPU.
func limited(others, most study.Share) func(*study.Study) {
	return func(s *study.Study) {
		s.Blocks, s.Invalid = 1, study.Invalid{Others: others, Most: most}
		s.Workloads[0].Duration = study.Duration(600 * time.Millisecond)
	}
}

// outcomes lists trials in order: what they were, how they ended, and whether they
// were run once more.
func outcomes(trials []result.Trial) (out []string) {
	for _, t := range trials {
		words := []string{strconv.Itoa(t.Block), t.Mode, string(t.Status)}
		if t.Requeued {
			words = append(words, "again")
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

// TestAloneHogMakesInvalid: with a program that keeps a CPU busy, trials become invalid
// because of other programs. The limit is far below its use on any machine.
func TestAloneHogMakesInvalid(t *testing.T) {
	hog(t)
	modes := []string{"host", "netns/macvlan"}
	run, trials, err := runStudy(t, netns.Driver{}, modes, limited(study.ShareOf(0.001), study.NotApplied()), nil)
	if err != nil {
		t.Fatal(err)
	}
	trials = tried(t, &run, trials)
	got := outcomes(trials)
	slices.Sort(got[:min(2, len(got))])
	slices.Sort(got[min(2, len(got)):])
	want := []string{"1 host invalid", "1 netns/macvlan invalid", "1 host invalid again", "1 netns/macvlan invalid again"}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("trials (-want +got):\n%s\nmodes %+v", d, run.Modes)
	}
	if why := trials[0].Reason; !strings.HasPrefix(why, "other programs used ") {
		t.Errorf("reason %q", why)
	}
	if run.Trials != (result.Tally{Invalid: 4}) || run.Noisy != "" || len(run.Cells) != 0 {
		t.Errorf("tally %+v, noisy %q, %d cells", run.Trials, run.Noisy, len(run.Cells))
	}
	if !slices.ContainsFunc(run.Warnings, func(w result.Warning) bool { return w.Code == "invalid_trials" }) {
		t.Errorf("no warning among %v", run.Warnings)
	}

	// With a limit that no program reaches, the same trials are valid.
	run, trials, err = runStudy(t, netns.Driver{}, modes, limited(study.ShareOf(1000), study.ShareOf(0.2)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range tried(t, &run, trials) {
		if tr.Status != result.TrialOK || tr.Machine["others_cpu"] <= 0 || tr.Machine["clock_elapsed"] <= 0 {
			t.Errorf("%s is %s (%s), machine %v", tr.Mode, tr.Status, tr.Reason, tr.Machine)
		}
	}
}

// TestAloneNoisyRun: with more invalid trials than allowed, nothing is repeated, and no
// verdict is given.
func TestAloneNoisyRun(t *testing.T) {
	hog(t)
	run, trials, err := runStudy(t, netns.Driver{}, []string{"host", "netns/macvlan"}, func(s *study.Study) {
		limited(study.ShareOf(0.001), study.ShareOf(0.2))(s)
		s.Workloads = append(s.Workloads, s.Workloads[0])
		s.Workloads[1].ID = "turns"
		s.Workloads[1].Slice = study.Duration(25 * time.Millisecond)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	trials = tried(t, &run, trials)
	if len(trials) != 4 || run.Trials != (result.Tally{OK: 2, Invalid: 2}) {
		t.Errorf("%v, tally %+v", outcomes(trials), run.Trials)
	}
	if run.Noisy == "" || run.Status != result.RunComplete {
		t.Errorf("noisy %q, status %s", run.Noisy, run.Status)
	}
	for _, tr := range trials {
		// Interleaved trials share the use of other programs: it is recorded, and makes
		// none invalid. Their CPU time is that of their own slices.
		m := tr.Machine
		if tr.Workload == "turns" && (tr.Status != result.TrialOK || m["others_cpu"] <= 0 || tr.Turns != 2 || m["cpu_busy"] <= 0 || m["cpu_time"] >= m["clock_elapsed"]) {
			t.Errorf("in %d turns: %s, machine %v", tr.Turns, tr.Status, m)
		}
	}
	for _, c := range run.Cells {
		if c.Baseline != "" && c.Verdict != result.CannotTell && !analysis.Maximum(c.Metric) {
			t.Errorf("%s %s: verdict %s of a noisy run", c.Mode, c.Metric, c.Verdict)
		}
	}
	if !slices.ContainsFunc(run.Warnings, func(w result.Warning) bool { return w.Code == "busy_turns" }) {
		t.Errorf("no warning of busy turns among %v", run.Warnings)
	}
}

// flapping adds a device whose carrier changed from one reading on.
func flapping(p *driver.Path, at int64) *driver.Path {
	var reads, changes atomic.Int64
	snapshot := p.Snapshot
	p.Snapshot = func(ctx context.Context) (driver.Counters, error) {
		c, err := snapshot(ctx)
		if err == nil {
			if reads.Add(1) == at {
				changes.Add(2)
			}
			c["b/eth9."+driver.CarrierChanges] = uint64(changes.Load())
		}
		return c, err
	}
	return p
}

// TestFlapIsMadeUpFor: a trial whose link flapped is invalid, and its whole set,
// including the mode with the good trial, is repeated after all others.
func TestFlapIsMadeUpFor(t *testing.T) {
	for name, change := range map[string]func(*study.Study){"at once": nil, "interleaved": inTurns} {
		t.Run(name, func(t *testing.T) {
			d := stub{provision: func(mode string, p *driver.Path) (*driver.Path, error) {
				if mode == "host" {
					return p, nil
				}
				return flapping(p, 2), nil // behind the first trial
			}}
			var total, last int
			run, trials, err := runStudy(t, d, []string{"host", "netns/macvlan"}, func(s *study.Study) {
				s.Invalid = study.Invalid{Most: study.ShareOf(0.2)}
				if change != nil {
					change(s)
				}
			}, func(e live.Event) {
				if s, ok := e.(live.TrialStarted); ok {
					total, last = s.Total, s.Done+len(s.Modes)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			trials = tried(t, &run, trials)
			got := outcomes(trials)
			for i := 0; i+1 < len(got); i += 2 {
				slices.Sort(got[i : i+2])
			}
			want := []string{"1 host ok", "1 netns/macvlan invalid", "2 host ok", "2 netns/macvlan ok", "1 host ok again", "1 netns/macvlan ok again"}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("trials (-want +got):\n%s", d)
			}
			if total != 6 || last != 6 {
				t.Errorf("the last of %d trials was told as number %d, want 6 of 6", total, last)
			}
			for _, tr := range trials {
				if tr.Status == result.TrialInvalid && tr.Reason != "the link of b/eth9 went down or up" {
					t.Errorf("reason %q", tr.Reason)
				}
			}
			if run.Noisy != "" || run.Trials != (result.Tally{OK: 5, Invalid: 1}) {
				t.Errorf("noisy %q, tally %+v", run.Noisy, run.Trials)
			}
			for _, c := range run.Cells {
				// Whether a CPU cost is known depends on what else the machine does.
				if c.N != 2 && !strings.HasPrefix(c.Metric, "cpu_") {
					t.Errorf("%s %s has %d blocks, want 2", c.Mode, c.Metric, c.N)
				}
			}

			// A resumed run repeats nothing that was repeated; an interrupted one repeats
			// the rest.
			for keep, more := range map[int]int{6: 0, 4: 2} {
				d := stub{provision: func(_ string, p *driver.Path) (*driver.Path, error) { return p, nil }}
				resumed, after, err := runStudyAfter(t, trials[:keep], d, []string{"host", "netns/macvlan"}, func(s *study.Study) {
					s.Invalid = study.Invalid{Most: study.ShareOf(0.2)}
					if change != nil {
						change(s)
					}
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				after = tried(t, &resumed, after)
				if len(after) != more || slices.ContainsFunc(after, func(tr result.Trial) bool { return !tr.Requeued || tr.Block != 1 }) {
					t.Errorf("resumed behind %d trials: %v", keep, outcomes(after))
				}
			}
		})
	}
}
