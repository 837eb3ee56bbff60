package runner

import (
	"context"
	"errors"
	"testing"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// inTwo is a bulk trial of two pairs, which sent and received so many bytes each in a second.
func inTwo(t *testing.T, bytes ...int64) *trialRun {
	t.Helper()
	made := must.Get(workloads.Named("tcp_stream"))(t)
	tr := &trialRun{Trial: plan.Trial{Workload: study.Workload{Kind: "tcp_stream"}}, tested: &modeUnderTest{path: &driver.Path{}}, work: made}
	for _, n := range bytes {
		p := &pair{client: traffic.Report{End: result.End{Sent: n}}, server: traffic.Report{End: result.End{Received: n}}}
		p.server.Window = traffic.Window{Received: n, Seconds: 1}
		tr.pairs = append(tr.pairs, p)
	}
	return tr
}

// A trial of several pairs is their sum, and shows each; a trial of one pair is that pair.
func TestPairsAreSummed(t *testing.T) {
	tr := inTwo(t, 1000, 500)
	tr.addPairs()
	if tr.out.Client.Sent != 1500 || tr.out.Server.Received != 1500 || len(tr.out.Pairs) != 2 || tr.out.Pairs[1].Client.Sent != 500 || tr.out.Pairs[0].Metrics["goodput"] != 8000 {
		t.Errorf("client %+v, server %+v, pairs %+v", tr.out.Client, tr.out.Server, tr.out.Pairs)
	}
	one := inTwo(t, 1000)
	if one.addPairs(); one.out.Pairs != nil || one.out.Client.Sent != 1000 {
		t.Errorf("of one pair: client %+v, pairs %+v", one.out.Client, one.out.Pairs)
	}
}

// If one pair fails, the trial fails with the first reason, which names the pair if there are several.
func TestPairFails(t *testing.T) {
	broken := errors.New("killed")
	for n, want := range map[int]string{1: "killed", 2: "pair 2: killed"} {
		tr := inTwo(t, make([]int64, n)...)
		tr.forEachPair(context.Background(), func(p *pair) error {
			if p == tr.pairs[n-1] {
				return broken
			}
			return nil
		})
		must.True(t, errors.Is(tr.err, broken) && tr.err.Error() == want, "%d pairs: %v, want %q", n, tr.err, want)
	}
}

// Where no proxy writes messages again, every byte that is received was sent.
func TestContentOfRewrittenMessages(t *testing.T) {
	for _, rewrites := range []bool{false, true} {
		tr := inTwo(t, 0)
		tr.tested.path.RewritesHeads = rewrites
		tr.finish(context.Background(), func(*agent.Trial, context.Context) (client, server traffic.Report, err error) {
			return traffic.Report{End: result.End{Sent: 100}}, traffic.Report{End: result.End{Received: 140}, Content: 60}, nil
		})
		must.Do(t, tr.err)
		err := checkReceived("server", tr.pairs[0].client, tr.pairs[0].server)
		if refused := err != nil; refused == rewrites {
			t.Errorf("of a path that rewrites heads, %t: %v", rewrites, err)
		}
	}
}

// A link whose carrier changed during a trial makes it invalid, from the path's counters on.
func TestFlapsAreCounted(t *testing.T) {
	before := driver.Counters{"b/eth9." + driver.CarrierChanges: 4, "a/eth0." + driver.CarrierChanges: 1, "a/eth0.tx_bytes": 5}
	after := driver.Counters{"b/eth9." + driver.CarrierChanges: 6, "a/eth0." + driver.CarrierChanges: 1, "a/eth0.tx_bytes": 9}
	moved := must.Get(before.Delta(after))(t)
	tr := trialWith(map[string]float64{})
	tr.count(moved)
	runWith(study.Invalid{}).markInvalid([]*trialRun{tr})
	must.True(t, tr.invalidReason == "the link of b/eth9 went down or up" && len(tr.out.Counters) == 2, "reason %q, counters %v", tr.invalidReason, tr.out.Counters)
}
