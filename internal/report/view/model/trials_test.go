package model

import (
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Trials of another experiment are counted beside those of the run, not among them.
func TestTrialsApartAreCounted(t *testing.T) {
	in := Input{Run: result.Run{Trials: result.Tally{OK: 2}, Apart: &result.Apart{Trials: result.Tally{OK: 3, Failed: 1}}}}
	const beside = "; beside them 4 of another experiment, which count in no cell and are not shown"
	must.EqualFor(t, "without trials", "2 ok, 0 invalid, 0 failed"+beside, countTrials(in).String())
	in.Trials = []result.Trial{{Status: result.TrialOK, Pilot: true}, {Status: result.TrialOK}, {Status: result.TrialInvalid}}
	got := countTrials(in).String()
	must.True(t, strings.HasPrefix(got, "2 ok, 1 invalid, 0 failed; among them 1 pilot trial") && strings.HasSuffix(got, beside), "with trials: %q", got)
}

func TestLimits(t *testing.T) {
	for want, facts := range map[string][]result.Fact{
		"":                     {{Name: "a engine", Value: "20"}},
		"0.5 CPUs each":        {{Name: "client limit", Value: "0.5 CPUs"}, {Name: "server limit", Value: "0.5 CPUs"}},
		"server 64 MiB":        {{Name: "server limit", Value: "64 MiB"}},
		"client 1; server 0.5": {{Name: "client limit", Value: "1"}, {Name: "server limit", Value: "0.5"}},
	} {
		must.Equal(t, want, LimitsText(result.Mode{Facts: facts}))
	}
}
