package k8s_test

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/k8s"
	"tare/internal/lab"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// checkSetUpTimed sets a mode up while its client tries to reach the server. The path works afterwards. How long a network policy takes is
// known on a network that enforces them, and else why not.
func checkSetUpTimed(t *testing.T, d *k8s.Driver, run lab.Spec, mode string, enforces bool) {
	t.Helper()
	o := drivertest.SpecOn(run, driver.Order{Mode: mode, Pairs: 1}).Order
	o.Label, o.Clock = "timed."+label(mode), &driver.SetupClock{Reaches: true}
	s := drivertest.BuildOn(t, d, o)
	at, known := o.Clock.Times()
	a := o.Clock.Answer()
	must.Require(t, known && a != nil, "known: %t, answer %v", known, a)
	if at.Exists.Before(at.Begun) || a.Connected.Before(at.Begun) || a.FirstByte.Before(a.Connected) || a.Whole.Before(a.FirstByte) || a.First.After(a.Connected) {
		t.Errorf("the moments are out of order: %+v, %+v", at, *a)
	}
	switch steps := o.Clock.Steps(); {
	case mode != "k8s/service":
		must.Equal(t, 0, len(steps))
	case enforces:
		must.True(t, len(steps) == 2 && steps["network policy enforced"] > 0 && steps["network policy lifted"] > 0, "%v", steps)
		t.Logf("%v", steps)
	default:
		must.Equal(t, "unknown: the cluster's network does not enforce one", fact(t, s, "effect of a network policy"))
	}
	t.Logf("%s: the pod ran after %s, its first byte came after %s", mode, at.Exists.Sub(at.Begun), a.FirstByte.Sub(at.Begun))
	reports := must.Get(s.TrialPairs(t, drivertest.Params("tcp_rr"), false, 1))(t)
	must.True(t, reports[0].Client.Messages > 0, "nothing was exchanged")
}
