package schedule

import (
	"strings"
	"testing"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// TestOwed: the whole set of an invalid trial is run once more, once.
func TestOwed(t *testing.T) {
	planned := func(block int) (trials []plan.Trial) {
		for _, w := range []string{"rr", "stream"} {
			for _, m := range []string{"host", "bridge"} {
				trials = append(trials, plan.Trial{Block: block, Mode: m, Workload: study.Workload{ID: w}})
			}
		}
		return trials
	}
	trial := func(block int, mode, workload string, s result.TrialStatus, again bool) outcome {
		return outcome{block: block, mode: mode, workload: workload, status: s, requeued: again}
	}
	names := func(trials []plan.Trial) (out []string) {
		for _, t := range trials {
			if !t.Requeued {
				out = append(out, "not marked:")
			}
			out = append(out, strings.Join([]string{string(rune('0' + t.Block)), t.Mode, t.Workload.ID}, " "))
		}
		return out
	}
	ok, bad, broke := result.TrialOK, result.TrialInvalid, result.TrialFailed
	ran := []outcome{
		trial(1, "host", "rr", ok, false), trial(1, "bridge", "rr", ok, false),
		trial(2, "host", "stream", ok, false), trial(2, "bridge", "stream", bad, false),
		trial(1, "host", "stream", bad, false), trial(1, "bridge", "stream", bad, false),
	}
	must.Equal(t, []string{"2 host stream", "2 bridge stream", "1 host stream", "1 bridge stream"}, names(requeued(planned, ran)))
	// A run that is resumed owes what is left: not what has come out once more,
	// invalid or not, but what broke.
	ran = append(ran, trial(2, "host", "stream", ok, true), trial(2, "bridge", "stream", bad, true), trial(1, "host", "stream", broke, true))
	must.Equal(t, []string{"1 host stream", "1 bridge stream"}, names(requeued(planned, ran)))
	tail := outcome{block: 1, mode: "host", workload: "rr", status: bad, tailRate: 1000}
	must.EqualFor(t, "owed for a trial of the tail pass", []plan.Trial(nil), requeued(planned, append(ran[:2:2], tail)))
	must.EqualFor(t, "owed, with nothing ruled out", []plan.Trial(nil), requeued(planned, ran[:2]))
}

func TestHopeless(t *testing.T) {
	most := quantity.ShareOf(0.2) // as method 1.10 has it
	must.True(t, !tooManyInvalid(most, result.Tally{OK: 8, Invalid: 4}, 8), "4 of 20 would be fit to judge")
	must.True(t, tooManyInvalid(most, result.Tally{OK: 8, Invalid: 6}, 8), "6 of 22 would not be fit to judge")
}
