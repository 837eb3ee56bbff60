package k8s_test

import (
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// eventWindow is the length of a trial with an event: a busy cluster takes seconds to bring one about.
const eventWindow = 20 * time.Second

// checkReplaced leads the service of a mode with two pairs to the second pod while requests are in progress. The cluster's endpoints show
// it, each server answers requests in its turn, and the path is proven for both; it is not for the first one alone. Afterwards the first
// one is back.
func checkReplaced(t *testing.T, s *drivertest.Setup) {
	t.Helper()
	p := drivertest.Params("http")
	p.KeepAlive = study.Off // each request is led to a server of its own
	e := must.Get(s.Path.EventNamed(study.EndpointReplaced))(t)
	r := s.TrialWithEvent(t, e, p, eventWindow, false)
	must.Fail(t, e.Happened(r.Before, r.Before), "service.endpoints is still ")
	must.Do(t, r.Undo(t.Context()))
	must.Equal(t, r.Before, must.Get(e.State(t.Context()))(t))

	one, other := r.Turns()
	if one.Messages == 0 || other.Messages == 0 {
		t.Fatalf("%d requests answered, and %d in its place", one.Messages, other.Messages)
	}
	must.Do(t, s.Proof(t, r.Counters, driver.CarriedInTurn(r.Client, one, other)))
	if s.Proof(t, r.Counters, []driver.Carried{driver.CarriedBy(r.Client, r.Server)}) == nil {
		t.Error("the path is proven for the first server alone")
	}
	if seen := r.Client.Window.Event; seen == nil || seen.Due != r.Due || seen.Gap <= 0 {
		t.Errorf("%+v", seen)
	}
	_, _, err := s.Trial(t, drivertest.Params("http"), false)
	must.Do(t, err)
}

// checkPolicyAdded lets policies select the pods of a mode while requests are in progress, which the network enforces.
func checkPolicyAdded(t *testing.T, s *drivertest.Setup) {
	t.Helper()
	e := must.Get(s.Path.EventNamed(driver.PolicyAdded))(t)
	r := s.TrialWithEvent(t, e, drivertest.Params("http"), eventWindow, false)
	must.Fail(t, e.Happened(r.Before, r.Before), "pod.policies went from 0 to 0, not up by 101")
	must.Do(t, s.Proof(t, r.Counters, []driver.Carried{driver.CarriedBy(r.Client, r.Server)}))
	must.Do(t, r.Undo(t.Context()))
	must.Equal(t, r.Before, must.Get(e.State(t.Context()))(t))
}

// checkNotEnforced adds policies on a network that ignores them: the event has not happened.
func checkNotEnforced(t *testing.T, s *drivertest.Setup) {
	t.Helper()
	e := must.Get(s.Path.EventNamed(driver.PolicyAdded))(t)
	before := must.Get(e.State(t.Context()))(t)
	undo := must.Get(e.Do(t.Context()))(t)
	must.Fail(t, e.Happened(before, must.Get(e.State(t.Context()))(t)), "does not enforce network policies: port 9297 of b/server is still open")
	must.Do(t, undo(t.Context()))
}
