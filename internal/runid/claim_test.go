package runid

import (
	"testing"

	"tare/internal/testkit/must"
)

// A claim counts for what its user and root have, and root's for everything.
func TestHold(t *testing.T) {
	const run, user, other = "00000001", 1000, 1001
	for name, tt := range map[string]struct {
		claim Claim
		owner int
		want  bool
	}{
		"the owner's":             {Claim{run, user}, user, true},
		"root's":                  {Claim{run, 0}, user, true},
		"root's, of root's":       {Claim{run, 0}, 0, true},
		"another user's":          {Claim{run, other}, user, false},
		"a user's, of root's":     {Claim{run, user}, 0, false},
		"an unknown user's":       {Claim{run, UnknownUser}, 0, true},
		"of an unknown user":      {Claim{run, other}, UnknownUser, true},
		"of another run":          {Claim{"00000002", user}, user, false},
		"of another run, of root": {Claim{"00000002", 0}, user, false},
	} {
		must.EqualFor(t, name, tt.want, (Claims{tt.claim}).Hold(run, tt.owner))
	}
	must.True(t, !(Claims(nil)).Hold(run, UnknownUser), "without a claim a run is alive")
}
