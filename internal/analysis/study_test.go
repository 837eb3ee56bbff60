package analysis

import (
	"testing"

	"tare/internal/must"
	"tare/internal/result"
	"tare/internal/study"
)

func TestNoisy(t *testing.T) {
	trials := func(ok, invalid, failed int) (out []result.Trial) {
		for range ok {
			out = append(out, result.Trial{Status: result.TrialOK})
		}
		for range invalid {
			out = append(out, result.Trial{Status: result.TrialInvalid})
		}
		for range failed {
			out = append(out, result.Trial{Status: result.TrialFailed})
		}
		return out
	}
	for _, tt := range []struct {
		ok, invalid, failed int
		most                study.Share
		want                string
	}{
		{0, 0, 0, study.ShareOf(0.2), ""},
		{8, 2, 0, study.ShareOf(0.2), ""},
		{8, 3, 9, study.ShareOf(0.2), "3 of 11 trials are invalid, more than 20 %: no verdict is possible"},
		{0, 4, 0, study.ShareOf(0.2), "4 of 4 trials are invalid, more than 20 %: no verdict is possible"},
		{0, 4, 0, study.NotApplied(), ""},
		{0, 4, 0, study.Share{}, ""},
	} {
		must.EqualFor(t, tt, tt.want, noisy(trials(tt.ok, tt.invalid, tt.failed), study.Invalid{Most: tt.most}))
	}
}
