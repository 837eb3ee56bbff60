package runner

import (
	"context"
	"errors"
	"testing"

	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// The load has the CPUs that the endpoints of the trial leave, and theirs where they leave none.
func TestLoadHasOtherCPUs(t *testing.T) {
	h := without(driver.HostInfo{CPUs: []int{0, 1, 2}, HostCPUs: map[string][]int{"a": {0, 1}, "b": {1}}}, 1, 2)
	must.Equal(t, []int{0}, h.CPUs)
	must.Equal(t, map[string][]int{"a": {0}, "b": {1}}, h.HostCPUs)
	must.Equal(t, []int{1, 2}, without(driver.HostInfo{CPUs: []int{1, 2}}, 1, 2).CPUs)
	must.Equal(t, []int{1, 2}, without(driver.HostInfo{CPUs: []int{1, 2}}, anyCPU, anyCPU).CPUs)
}

// What ends the load ends the trial, which says so; the load's values are not among those of the trial's pairs.
func TestLoadThatFails(t *testing.T) {
	tr := inTwo(t, 1000, 500)
	tr.load = inTwo(t, 7e6).pairs[0]
	tr.load.clientSide = traffic.ParamsOf(study.Workload{Kind: "tcp_stream"})
	if all := tr.all(); len(all) != 3 || all[2] != tr.load || len(tr.pairs) != 2 {
		t.Fatalf("%d pairs in all", len(all))
	}
	tr.addPairs()
	must.Equal(t, int64(1500), tr.out.Client.Sent)

	broken := errors.New("killed")
	tr.forEachPair(context.Background(), func(p *pair) error {
		if p == tr.load {
			return broken
		}
		return nil
	})
	must.True(t, errors.Is(tr.err, broken) && tr.err.Error() == "the tcp_stream beside it: killed", "%v", tr.err)
}

// A mode that cannot carry the load of a workload does not carry the workload.
func TestLoadThatIsNotCarried(t *testing.T) {
	s := &modeUnderTest{mode: driver.Mode{Cannot: func(w study.Workload, _ traffic.Spec, _ map[string]string) string {
		if w.Kind == "http" {
			return ""
		}
		return "it sends no requests"
	}}}
	must.Equal(t, "", s.whyNot(study.Workload{Kind: "http"}))
	must.Equal(t, "it sends no requests", s.whyNot(study.Workload{Kind: "tcp_rr"}))
	must.Equal(t, "of its load, tcp_stream, it sends no requests", s.whyNot(study.Workload{Kind: "http", WithLoad: study.TCPLoad}))
	must.Equal(t, "", s.whyNot(study.Workload{Kind: "of a later version"}))
}

// A load that carried nothing in its window is no load, and its goodput is a metric of the trial.
func TestLoadIsJudged(t *testing.T) {
	tr := inTwo(t, 1000)
	metrics := map[string]float64{}
	must.Do(t, tr.judgeLoad(metrics))
	must.Equal(t, 0, len(metrics))

	tr.load = inTwo(t, 1000).pairs[0]
	tr.load.clientSide = traffic.ParamsOf(study.Workload{Kind: "tcp_stream"})
	tr.load.client.Window = traffic.Window{Sent: 1000, Seconds: 1}
	tr.elapsed = 2e9
	must.Do(t, tr.judgeLoad(metrics))
	must.Equal(t, 8000.0, metrics[result.LoadGoodput])
	must.True(t, tr.cpuUse() == nil, "the CPU time of a trial with a load is related to its exchanges")

	tr.load.server.Window.Received = 0
	must.Fail(t, tr.judgeLoad(metrics), "the tcp_stream beside it: no payload received within the timed window")
}
