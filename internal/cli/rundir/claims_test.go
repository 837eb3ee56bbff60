package rundir

import (
	"testing"

	"tare/internal/cli/command"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// A claim that does not hold is told by the exit code before one that cannot be told.
func TestClaimsOutcome(t *testing.T) {
	claims := func(outcomes ...result.ClaimOutcome) (out []result.Claim) {
		for i, o := range outcomes {
			out = append(out, result.Claim{ID: string(rune('a' + i)), Outcome: o})
		}
		return out
	}
	must.Do(t, ClaimsOutcome(claims(result.ClaimHolds, result.ClaimHolds)))
	for _, c := range []struct {
		code   int
		want   string
		claims []result.Claim
	}{
		{command.ExitRegression, "3 claims: 1 does not hold (b)", claims(result.ClaimCannotTell, result.ClaimDoesNotHold, result.ClaimHolds)},
		{command.ExitIncomplete, "3 claims: 2 cannot be told (b, c)", claims(result.ClaimHolds, result.ClaimCannotTell, "")},
	} {
		err := ClaimsOutcome(c.claims)
		must.True(t, command.ExitCode(err) == c.code && err.Error() == c.want, "%v; want %d, %s", err, c.code, c.want)
	}
}
