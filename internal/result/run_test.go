package result

import (
	"testing"

	"tare/internal/testkit/must"
)

func TestCount(t *testing.T) {
	trials := []Trial{{Status: TrialOK}, {Status: TrialFailed}, {Status: TrialOK}, {Status: TrialInvalid}, {Status: "odd"}}
	must.Equal(t, Tally{OK: 2, Invalid: 1, Failed: 1}, Count(trials))
}
