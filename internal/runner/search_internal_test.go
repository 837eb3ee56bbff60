package runner

import (
	"math"
	"slices"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/stats/ratesearch"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// step is what both ends report of a step on a path that carries so many datagrams/s, and whose queue
// holds up the last ones for as long as it grew.
func step(req ratesearch.Request, most, queue float64) *pair {
	sent := int64(math.Round(req.Load * req.Duration))
	got := min(sent, int64(math.Round((most*req.Duration + most*queue))))
	end := func(f traffic.FlowCount, flowing float64) traffic.Report {
		return traffic.Report{Traffic: flowing, Datagrams: &traffic.Datagrams{Flows: []traffic.FlowCount{f}}}
	}
	p := &pair{client: end(traffic.FlowCount{Sent: sent, SentCounted: sent}, req.Duration), server: end(traffic.FlowCount{Received: got, ReceivedCounted: got}, req.Duration)}
	p.client.Window.Slots = sent
	if req.Load > most {
		p.server.Traffic += queue
	}
	return p
}

// A search on a path of known rate ends at it, without what a queue only delayed. Its record has every
// step, and its totals are their sum.
func TestSearchOnAKnownPath(t *testing.T) {
	const most = 5000 // datagrams/s
	for _, queue := range []float64{0, 0.2} {
		w := study.Workload{
			ID: "most", Kind: "udp_search", LossGoals: quantity.LossGoals{0, 0.01}, Goal: study.Median, ExceedRatio: quantity.PortionOf(0.5), Step: quantity.Duration(time.Second), StepSum: quantity.Duration(3 * time.Second),
			Precision: 0.02, MinRate: 1e6, MaxRate: 100e6, MaxSearch: quantity.Duration(time.Hour), PayloadSize: 1000,
		}
		made := must.Get(workloads.Named(w.Kind))(t)
		state := must.Get(ratesearch.New(plan.Search(w)))(t)
		tr := &trialRun{Trial: plan.Trial{Workload: w}, tested: &modeUnderTest{path: &driver.Path{}}, work: made, pairs: []*pair{{}}}
		tr.search = &search{state: state, payload: 8000, moved: driver.Counters{}}
		var sent, received int64
		for {
			req, more := state.Next()
			if !more {
				break
			}
			p := step(req, most, queue)
			tr.addStep(p)
			one, backlog := tr.search.trial(req, w, p)
			if over := req.Load > most*1.2; over != (backlog > 0) && queue > 0 && (over || req.Load < most) || backlog > queue+1e-9 {
				t.Errorf("a step of %g/s has a backlog of %g s", req.Load, backlog)
			}
			tr.search.note(one, backlog)
			must.Do(t, state.Add(one))
			sent, received = sent+one.Sent, received+p.server.Datagrams.Total().Received
		}
		must.Do(t, tr.computeMetrics())
		for metric, want := range map[string]float64{"throughput_0": most * 8000, "throughput_1": most * 8000} {
			if got := tr.out.Metrics[metric]; math.Abs(got/want-1) > 0.03 {
				t.Errorf("queue of %g s: %s is %g, want %g", queue, metric, got, want)
			}
		}
		tr.addPairs()
		if c, s := tr.out.Client.Datagrams, tr.out.Server.Datagrams; *c.Sent != sent || *s.Received != received || len(tr.out.Steps) < 5 || len(tr.out.Search.Goals) != 2 {
			t.Errorf("%d steps sent %d and received %d; recorded %d and %d", len(tr.out.Steps), sent, received, *c.Sent, *s.Received)
		}
		must.True(t, !slices.ContainsFunc(tr.out.Steps, func(st result.Step) bool { return st.Received > st.Sent || st.LossRatio < 0 || st.LossRatio > 1 }), "steps %+v", tr.out.Steps)
	}
}

// The time left of a run with searches follows what its searches took, which is not known beforehand, and
// leaves the other workloads their own pace. The clock is simulated.
func TestTimeLeftOfSearches(t *testing.T) {
	const slow = 3 // how much longer a search takes than estimated
	s := scriptOf("host", "netns/macvlan")
	s.study.Blocks = 4
	s.study.Workloads = append(s.study.Workloads, study.Workload{
		ID: "most", Kind: "udp_search", LossGoals: quantity.LossGoals{0}, Goal: study.Median, ExceedRatio: quantity.PortionOf(0.5), Step: quantity.Duration(time.Second), StepSum: quantity.Duration(3 * time.Second),
		Precision: 0.02, MinRate: 1e6, MaxRate: 100e6, MaxSearch: quantity.Duration(time.Hour), PayloadSize: 1000, Flows: 1, Family: study.IPv4, Placement: study.Free,
		SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(),
	})
	ended := 0 // searches
	s.give = func(tr *trialRun) {
		if tr.IsSearch() {
			time.Sleep(slow * tr.Expected)
			ended++
			tr.out.Metrics = map[string]float64{"throughput_0": 5e6}
		}
	}
	type moment struct {
		at       time.Time
		searched bool // a search of each mode has ended
		estimate time.Duration
	}
	var said []moment
	var end time.Time
	s.on = func(e live.Event) {
		switch e := e.(type) {
		case live.TrialStarted:
			said = append(said, moment{time.Now(), ended >= 2, e.Remaining})
		case live.Ended:
			end = time.Now()
		}
	}
	must.Do(t, s.runs(t))
	before, after := 0, 0
	for _, m := range said {
		left := end.Sub(m.at)
		if !m.searched {
			before++
			must.True(t, m.estimate <= left/2, "before a search %v left, estimated %v: the test shows nothing", left, m.estimate)
			continue
		}
		after++
		if ratio := float64(m.estimate) / float64(left); ratio < 0.9 || ratio > 1.15 {
			t.Errorf("%v left, estimated %v", left, m.estimate)
		}
	}
	must.True(t, before != 0 && after >= 4, "%d moments before a search ended, %d later", before, after)
}
