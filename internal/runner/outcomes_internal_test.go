package runner

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis/verdict"
	"tare/internal/driver"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// What becomes of a mode and of its trials by how these end: one that fails once is tried again, and
// one that fails twice is not tried in later blocks. One without a proof makes its mode void at once.
func TestOutcomes(t *testing.T) {
	broken, none := errors.New("it broke"), fmt.Errorf("only 7 bytes were carried: %w", driver.ErrTooLittleTraffic)
	for name, c := range map[string]struct {
		give   func(tr *trialRun) // of trials of netns/macvlan
		want   []string
		status result.ModeStatus
		reason string
		cells  bool // of that mode
	}{
		"fails once": {func(tr *trialRun) {
			if tr.Block == 1 && tr.out.Attempt == 1 {
				tr.err = broken
			}
		}, []string{"1 netns/macvlan failed", "1 netns/macvlan ok", "2 netns/macvlan ok"}, result.ModeMeasured, "", true},
		"fails twice": {func(tr *trialRun) { tr.err = broken }, []string{"1 netns/macvlan failed", "1 netns/macvlan failed"},
			result.ModeFailed, "a trial of tcp_rr failed 2 times in block 1: it broke", false},
		"carries too little for a proof": {func(tr *trialRun) { tr.err = tr.proofError(none) }, []string{"1 netns/macvlan failed", "1 netns/macvlan failed"},
			result.ModeFailed, "failed 2 times in block 1: only 7 bytes", false},
		"is not proven in block 2": {func(tr *trialRun) {
			if tr.Block == 2 {
				tr.err = tr.proofError(errors.New("the bridge did not count"))
			}
		}, []string{"1 netns/macvlan ok", "2 netns/macvlan failed"}, result.ModeVoid, "the bridge did not count", false},
	} {
		for _, slice := range []quantity.Duration{quantity.AtOnce, quantity.Duration(25 * time.Millisecond)} {
			s := scriptOf("host", "netns/macvlan")
			s.study.Workloads[0].Slice = slice
			s.give = func(tr *trialRun) {
				if tr.Mode != "host" {
					c.give(tr)
				}
			}
			if err := s.runs(t); c.cells && err != nil || !c.cells && !errors.Is(err, ErrNothing) {
				t.Errorf("%s: the run ended with %v", name, err)
			}
			var got []string
			for i, text := range s.told() {
				if s.trials[i].Mode != "host" {
					got = append(got, text)
				}
				if tr := s.trials[i]; tr.Status == result.TrialFailed && (tr.Metrics != nil || tr.Reason == "" || tr.Void != (c.status == result.ModeVoid)) {
					t.Errorf("%s: the failed trial is %+v", name, tr)
				}
			}
			must.EqualFor(t, name+": trials", c.want, got)
			if m := s.mode("netns/macvlan"); m.Status != c.status || !strings.Contains(m.Reason, c.reason) || s.mode("host").Status != result.ModeMeasured {
				t.Errorf("%s: modes %+v", name, s.run.Modes)
			}
			for _, cell := range s.run.Cells {
				must.True(t, cell.Mode != "netns/macvlan" || c.cells, "%s: the mode has the cell %+v", name, cell)
			}
		}
	}
}

// A resumed run does not try a void mode again.
func TestVoidIsRemembered(t *testing.T) {
	s := scriptOf("host", "netns/macvlan")
	s.earlier = []result.Trial{{Schema: result.TrialSchema, Seq: 1, Block: 1, Mode: "netns/macvlan", Workload: "tcp_rr", Attempt: 1,
		Status: result.TrialFailed, Void: true, Reason: "the bridge did not count"}}
	must.Equal(t, true, errors.Is(s.runs(t), ErrNothing))
	s.became(t, "netns/macvlan", result.ModeVoid, "the bridge did not count", result.Tally{OK: 2, Failed: 1})
}

// A mode that is unsupported or cannot be built is told with its reason; the others are measured. A run
// of nothing but such is an error.
func TestModesThatCannotBeBuilt(t *testing.T) {
	s := scriptOf("host", "elsewhere", "netns/bridge", "netns/macvlan")
	s.provide = func(mode string, _ int) error {
		if mode == "netns/bridge" {
			return errors.New("no more bridges")
		}
		return nil
	}
	must.Do(t, s.runs(t))
	s.became(t, "elsewhere", result.ModeUnsupported, "it is not to be had", result.Tally{OK: 4})
	s.became(t, "netns/bridge", result.ModeFailed, "no more bridges", result.Tally{OK: 4})
	must.Equal(t, result.RunComplete, s.run.Status)
	s = scriptOf("host", "netns/bridge")
	s.provide = func(mode string, _ int) error {
		if mode == "netns/bridge" {
			return errors.New("no more bridges")
		}
		return nil
	}
	err := s.runs(t)
	must.FailFor(t, "nothing to compare with host", err, "no mode is left to compare with a baseline", "netns/bridge is failed: no more bridges")
	must.Equal(t, 0, len(s.trials))
	s = scriptOf("host", "netns/bridge")
	s.provide = func(mode string, _ int) error {
		if mode == "host" {
			return errors.New("no address")
		}
		return nil
	}
	must.FailFor(t, "no baseline", s.runs(t), "no mode is left to compare with a baseline", "host is failed: no address")
	s = scriptOf("elsewhere")
	if err := s.runs(t); !errors.Is(err, ErrNothing) || s.run.Status != result.RunFailed {
		t.Errorf("status %s, error %v", s.run.Status, err)
	}
}

// The events of a run tell its whole story in order.
func TestEvents(t *testing.T) {
	s := scriptOf("host")
	must.Do(t, s.runs(t))
	var kinds []string
	for _, e := range s.events {
		if _, warned := e.(live.WarningRaised); !warned { // another run on the machine, for example
			kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", e), "live."))
		}
	}
	must.EqualFor(t, "events", "Planned ModeSettled TrialStarted TrialEnded TrialStarted TrialEnded Ended", strings.Join(kinds, " "))
}

// A workload that fails twice is dropped for its mode, and the others go on.
func TestWorkloadDropped(t *testing.T) {
	s := scriptOf("host")
	other := bulk()
	other.ID, other.Tool = "other", "ntttcp"
	s.study.Workloads = append(s.study.Workloads, other)
	s.give = func(tr *trialRun) {
		if tr.Workload.ID == "other" {
			tr.err = errors.New("ntttcp is not installed")
		}
	}
	must.Do(t, s.runs(t))
	s.became(t, "host", result.ModeMeasured, "", result.Tally{OK: 2, Failed: attempts})
	must.Contain(t, s.warned("workload_failed"), "host other: a trial of other failed 2 times in block 1: ntttcp is not installed")
}

// A mode without datagrams has no trial of a workload over UDP, and says why; a study of these
// alone has no mode.
func TestTCPOnly(t *testing.T) {
	udp := study.Workload{ID: "udp", Kind: "udp_stream", Flows: 1, PayloadSize: 1200, Rate: 10e6, Family: study.IPv4, Placement: study.Free,
		SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(), Slice: quantity.AtOnce, Duration: quantity.Duration(time.Second)}
	s := scriptOf("proxy")
	s.study.Workloads = append(s.study.Workloads, udp)
	must.Do(t, s.runs(t))
	s.became(t, "proxy", result.ModeMeasured, "", result.Tally{OK: 2})
	must.Equal(t, 2, len(s.trials))
	must.Contain(t, s.warned("workload_unsupported"), "proxy udp: ", "it sends datagrams, and its proxies forward TCP connections alone")
	s = scriptOf("proxy")
	s.study.Workloads = []study.Workload{udp}
	must.Equal(t, true, errors.Is(s.runs(t), ErrNothing))
	must.Equal(t, result.ModeUnsupported, s.mode("proxy").Status)
	must.Contain(t, s.mode("proxy").Reason, "the mode carries no workload of the study. udp is left out: it sends datagrams, and its proxies")
}

// The whole set of an invalid trial is repeated after all others, with the mode whose trial was good. A
// resumed run repeats nothing that was repeated, and the rest of what was not.
func TestInvalidIsMadeUpFor(t *testing.T) {
	const why = "the link of b/eth9 went down or up"
	for name, slice := range map[string]quantity.Duration{"at once": quantity.AtOnce, "interleaved": quantity.Duration(25 * time.Millisecond)} {
		begin := func() *scripted {
			s := scriptOf("host", "netns/macvlan")
			s.study.Workloads[0].Slice, s.study.Invalid = slice, study.Invalid{Most: quantity.ShareOf(0.3)}
			return s
		}
		s := begin()
		s.give = func(tr *trialRun) {
			if tr.Mode != "host" && tr.Block == 1 && !tr.Requeued {
				tr.invalidReason = why
			}
		}
		must.Do(t, s.runs(t))
		n := map[string]int{}
		for _, text := range s.told() {
			n[text]++
		}
		want := map[string]int{"1 host ok": 1, "1 netns/macvlan invalid": 1, "2 host ok": 1, "2 netns/macvlan ok": 1, "1 host ok again": 1, "1 netns/macvlan ok again": 1}
		must.EqualFor(t, name, want, n)
		must.EqualFor(t, name+": the last two, again", []bool{true, true}, []bool{s.trials[4].Requeued, s.trials[5].Requeued})
		if e := of[live.TrialStarted](s); e[len(e)-1].Total != 6 || e[len(e)-1].Done+len(e[len(e)-1].Modes) != 6 {
			t.Errorf("%s: the last was told as %+v, want 6 of 6", name, e[len(e)-1])
		}
		must.EqualFor(t, name+": noisy", []any{"", result.Tally{OK: 5, Invalid: 1}}, []any{s.run.Noisy, s.run.Trials})
		for _, tr := range s.trials {
			must.True(t, tr.Status != result.TrialInvalid || tr.Reason == why, "%s: reason %q", name, tr.Reason)
		}
		for _, c := range s.run.Cells {
			must.EqualFor(t, fmt.Sprintf("%s: %s %s", name, c.Mode, c.Metric), 2, c.N)
		}
		for keep, more := range map[int]int{6: 0, 4: 2} {
			again := begin()
			again.earlier = s.trials[:keep]
			must.Do(t, again.runs(t))
			if len(again.trials) != more || more > 0 && (!again.trials[0].Requeued || again.trials[1].Block != 1) {
				t.Errorf("%s: resumed behind %d trials: %v", name, keep, again.told())
			}
		}
	}
}

// With more invalid trials than allowed nothing is repeated, and no verdict is given; without such a
// limit all are repeated, once.
func TestNoisyRun(t *testing.T) {
	for most, want := range map[quantity.Share]int{quantity.ShareOf(0.2): 4, quantity.NotApplied(): 6} {
		s := scriptOf("host", "netns/macvlan")
		s.study.Invalid.Most = most
		s.give = func(tr *trialRun) {
			if tr.Block == 2 {
				tr.invalidReason = "other programs used 90 % of a CPU"
			}
		}
		must.Do(t, s.runs(t))
		if len(s.trials) != want || (s.run.Noisy != "") != most.On() || s.run.Status != result.RunComplete || s.warned("invalid_trials") == "" {
			t.Errorf("at most %v: %v, noisy %q, warnings %+v", most, s.told(), s.run.Noisy, s.run.Warnings)
		}
		for _, c := range s.run.Cells {
			must.True(t, !most.On() || c.Baseline == "" || c.Verdict == result.CannotTell || verdict.Uncompared(c.Metric),
				"%s %s: verdict %s of a noisy run", c.Mode, c.Metric, c.Verdict)
		}
	}
}

// A workload with too many invalid trials is not repeated and has no verdict; the trials of another are repeated, and it is judged.
func TestNoisyWorkload(t *testing.T) {
	s := scriptOf("host", "netns/macvlan")
	many := exchanges()
	many.ID, many.Flows = "many", 16
	s.study.Workloads, s.study.Blocks, s.study.Invalid.Most = append(s.study.Workloads, many), 6, quantity.ShareOf(0.2)
	s.give = func(tr *trialRun) {
		if tr.Workload.ID == "many" && tr.Block > 2 || tr.Block == 2 && !tr.Requeued {
			tr.invalidReason = "other programs used 90 % of a CPU"
		}
	}
	must.Do(t, s.runs(t))
	again := map[string]int{}
	for _, trial := range s.trials {
		if trial.Requeued {
			again[trial.Workload]++
		}
	}
	must.Equal(t, map[string]int{"tcp_rr": 2}, again)
	must.Equal(t, []any{"", []string{"many"}}, []any{s.run.Noisy, s.run.NoisyWorkloads})
	must.Contain(t, s.warned("noisy_workload"), "10 of 12 trials are invalid")
	for _, c := range s.run.Cells {
		must.True(t, c.Metric != "transaction_rate" || c.Baseline == "" || (c.Workload == "many") == (c.BlocksNeeded == nil && c.Verdict == result.CannotTell),
			"%s: verdict %s", c.Workload, c.Verdict)
	}
}

// A run without a value at its end has failed, and its error names the cause: every trial is invalid, whatever the
// study allows, or every mode is void.
func TestNothingAtTheEnd(t *testing.T) {
	const load = "other programs used 15 % of a CPU, more than 5 %"
	for _, most := range []quantity.Share{quantity.ShareOf(0.2), quantity.NotApplied()} {
		s := scriptOf("host", "netns/macvlan")
		s.study.Invalid.Most = most
		s.give = func(tr *trialRun) { tr.invalidReason = load }
		err := s.runs(t)
		must.Equal(t, true, errors.Is(err, ErrNothing))
		must.FailFor(t, "all invalid", err, "trials are invalid; the first, ", "tcp_rr in block 1: "+load)
		must.Equal(t, []any{result.RunFailed, 0}, []any{s.run.Status, s.run.Trials.OK})
	}
	s := scriptOf("host", "netns/macvlan")
	s.give = func(tr *trialRun) { tr.err = tr.proofError(errors.New("the bridge did not count")) }
	err := s.runs(t)
	must.Equal(t, true, errors.Is(err, ErrNothing))
	must.FailFor(t, "all void", err, "host is void: ", "netns/macvlan is void: ", "the bridge did not count")
	must.Equal(t, result.RunFailed, s.run.Status)
	s = scriptOf("host", "netns/macvlan")
	s.give = func(tr *trialRun) {
		if tr.Block > 1 {
			tr.invalidReason = load
		}
	}
	must.Do(t, s.runs(t)) // one value of each is a result
	must.Equal(t, result.RunComplete, s.run.Status)
	s = scriptOf("host", "netns/macvlan")
	s.give = func(tr *trialRun) {
		if tr.Mode != "host" {
			tr.invalidReason = load
		}
	}
	must.Equal(t, true, errors.Is(s.runs(t), ErrNothing)) // the baseline alone answers nothing
	must.Equal(t, result.RunFailed, s.run.Status)
}
