package section

import (
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// What the generator adds is stated for each workload; where it is not known, that is said.
func TestOwnShares(t *testing.T) {
	run := result.Run{OwnShares: []result.OwnShare{
		{Workload: "rr", Baseline: "host", Seconds: 35e-9, Share: 0.0035},
		{Workload: "rr8", Baseline: "host", Seconds: 40e-9, Share: 0.012, Overlapping: true},
		{Workload: "dns", Baseline: "host"},
	}}
	must.Equal(t, "The generator's own share: rr 0.4 % of an exchange of host (35.0 ns), rr8 1.2 % of the client's time of host (40.0 ns), dns unknown.", ownShares(run))
	must.Equal(t, "", ownShares(result.Run{}))
}
