//go:build linux

package runner_test

import (
	"slices"
	"testing"
	"time"

	"tare/internal/driver/netns"
	"tare/internal/result"
	"tare/internal/study"
)

// searching is a short search on a path of so many bit/s.
func searching(s *study.Study, rate study.Rate) {
	s.Lab.Rate = rate
	s.Workloads = []study.Workload{{
		ID: "most", Kind: "udp_search", LossGoals: study.LossGoals{0, 0.01}, Goal: study.Median, ExceedRatio: study.PortionOf(0.5),
		Step: study.Duration(200 * time.Millisecond), StepSum: study.Duration(600 * time.Millisecond), Precision: 0.05,
		Pause: study.WaitOf(20 * time.Millisecond), MinRate: 1e6, MaxRate: 200e6, MaxSearch: study.Duration(4 * time.Second),
		Flows: 1, PayloadSize: 1400, Burst: 64, Offload: study.Off, Fragment: study.Off, Direction: study.Forward, Family: study.IPv4,
		SendBuffer: study.Buffer(4 << 20), ReceiveBuffer: study.Buffer(4 << 20), Placement: study.Free, Warmup: study.WaitOf(20 * time.Millisecond),
	}}
}

// A search on a path of known rate ends near it, its steps add up to what the path was
// proven to carry, and the next one begins where it ended. The bounds are wide: a busy
// machine keeps a sender from its schedule, and only ever makes the answer lower.
func TestAloneSearch(t *testing.T) {
	const limit, frame, payload = 100e6, 1400 + 28 + 14, 1400
	run, trials, err := runStudy(t, netns.Driver{}, []string{"host", "netns/bridge"}, func(s *study.Study) { searching(s, limit) }, nil)
	if err != nil || run.Trials.OK != 4 {
		t.Fatalf("%v, trials %+v", err, trials)
	}
	const carries = limit * payload / frame
	for _, tr := range trials {
		if tr.Search == nil || len(tr.Search.Goals) != 2 || len(tr.Steps) == 0 {
			t.Fatalf("%s in block %d: search %+v, %d steps", tr.Mode, tr.Block, tr.Search, len(tr.Steps))
		}
		most := tr.Metrics["throughput_1"]
		if most < carries/10 || most > carries*1.15 {
			t.Errorf("%s in block %d: %.3g bit/s at 1 %% loss on a path of %.3g; steps %+v", tr.Mode, tr.Block, most, carries, tr.Steps)
		}
		if none := tr.Metrics["throughput_0"]; none > most*1.06 {
			t.Errorf("%s in block %d: %.3g bit/s without loss, %.3g at 1 %%", tr.Mode, tr.Block, none, most)
		}
		var sent int64
		for _, st := range tr.Steps {
			sent += st.Sent
			if st.Received > st.Sent || st.LossRatio < 0 || st.LossRatio > 1 {
				t.Errorf("step %+v", st)
			}
		}
		if got := *tr.Client.Datagrams.Sent; got < sent {
			t.Errorf("%s: the client sent %d datagrams, its steps %d that count", tr.Mode, got, sent)
		}
		if tr.GeneratorLimited != nil {
			t.Errorf("%s: what the steps could not offer marks the whole trial", tr.Mode)
		}
	}
	for _, metric := range []string{"throughput_0", "throughput_1"} {
		if !slices.ContainsFunc(run.Cells, func(c result.Cell) bool { return c.Metric == metric && c.Mode == "netns/bridge" && c.Ratio != nil }) {
			t.Errorf("no cell of %s: %+v", metric, run.Cells)
		}
	}
}

// On a slower path the answer is lower, and loss goals are the study's. A busy machine only
// ever makes an answer lower, down to none: the largest of a few searches counts.
func TestAloneSearchTellsPathsApart(t *testing.T) {
	const attempts = 4
	for attempt, found := 1, (map[study.Rate]float64{}); ; attempt++ {
		searchPaths(t, found)
		// The path's token bucket lets 64 KiB pass beyond its rate: a fifth of what the slow
		// one carries in a step.
		slow, fast := found[20e6], found[100e6]
		switch {
		case slow > 20e6*1.35 || attempt == attempts && (slow <= 0 || fast < 1.2*slow):
			t.Fatalf("%.3g bit/s on 20 Mbit/s, %.3g on 100", slow, fast)
		case slow > 0 && fast >= 1.2*slow:
			return
		}
		t.Logf("%.3g bit/s on 20 Mbit/s, %.3g on 100: searching again", slow, fast)
	}
}

// searchPaths searches on two paths and keeps the largest answer of each.
func searchPaths(t *testing.T, found map[study.Rate]float64) {
	t.Helper()
	for _, rate := range []study.Rate{20e6, 100e6} {
		run, trials, err := runStudy(t, netns.Driver{}, []string{"host"}, func(s *study.Study) {
			searching(s, rate)
			s.Blocks, s.Workloads[0].LossGoals = 1, study.LossGoals{0.05}
		}, nil)
		if err != nil || run.Trials.OK != 1 {
			t.Fatalf("%v, trials %+v", err, trials)
		}
		most := trials[0].Metrics["throughput_5"]
		found[rate] = max(found[rate], most)
		if i := slices.IndexFunc(run.Cells, func(c result.Cell) bool { return c.Metric == "throughput_5" }); most > 0 && i < 0 {
			t.Errorf("no cell of throughput_5: %+v", run.Cells)
		}
	}
}
