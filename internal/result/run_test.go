package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCount(t *testing.T) {
	trials := []Trial{{Status: TrialOK}, {Status: TrialFailed}, {Status: TrialOK}, {Status: TrialInvalid}, {Status: "odd"}}
	if d := cmp.Diff(Tally{OK: 2, Invalid: 1, Failed: 1}, Count(trials)); d != "" {
		t.Error(d)
	}
}
