package plan

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

var updatePlans = flag.Bool("update-plans", false, "write the plans of testdata")

// writtenTrial is a trial of a plan, with everything that the runner takes from it.
type writtenTrial struct {
	Block    int               `json:"block"`
	Mode     string            `json:"mode"`
	Workload string            `json:"workload"`
	Settings map[string]string `json:"settings,omitempty"` // if they are not those of the trial before
	Expected time.Duration     `json:"expected,omitempty"`
	Takes    time.Duration     `json:"takes"`
	Rounds   int               `json:"rounds,omitempty"`
}

// written is a plan as a golden file has it: one line for each trial.
func written(t *testing.T, p Plan) string {
	t.Helper()
	var text []byte
	line := func(v any) {
		text = append(append(text, must.Get(json.Marshal(v))(t)...), '\n')
	}
	line(struct {
		Seed              uint64
		MinBlocks, Blocks int
		Modes             []string
		Settle, Estimate  time.Duration
	}{p.Seed, p.MinBlocks, p.Blocks, p.Modes, p.Settle, p.Estimate(trials(p))})
	before := map[string]map[string]string{}
	for _, tr := range trials(p) {
		w := writtenTrial{Block: tr.Block, Mode: tr.Mode, Workload: tr.Workload.Name(), Expected: tr.Expected, Takes: tr.Traffic() + tr.Overhead()}
		if tr.Sliced() {
			w.Rounds = tr.Rounds()
		}
		settings := study.Flat(tr.Workload.Fields())
		if !cmp.Equal(before[w.Workload], settings) {
			w.Settings, before[w.Workload] = settings, settings
		}
		line(w)
	}
	return string(text)
}

// One seed gives one plan, byte for byte, on every system and processor: the files were
// written on one of them.
func TestPlansAreTheSameEverywhere(t *testing.T) {
	second := quantity.Duration(time.Second)
	for name, s := range map[string]study.Study{
		"two-workloads": sample(),
		"standard": resolvedSample(t, func(s *study.Study) {
			s.Seed, s.CostPass.Rate = study.MaxSeed, quantity.PassAuto
			s.Workloads = append(s.Workloads, study.Workload{Kind: "udp_stream", VerifyWith: "iperf3", Every: 3})
		}),
		"search": {
			Seed: 12345678901, Blocks: 3, Modes: study.ModesOf("host", "netns/bridge", "netns/vxlan", "netns/macvlan"), Settle: quantity.WaitOf(100 * time.Millisecond),
			Workloads: []study.Workload{
				{ID: "search", Kind: "udp_search", LossGoals: quantity.LossGoals{0, 0.001}, Goal: study.Beside, Precision: 0.03, ExceedRatio: quantity.PortionOf(0.5), Flows: 2, PayloadSize: 1372,
					MinRate: 1e6, MaxRate: 1e10, Step: quantity.Duration(250 * time.Millisecond), StepSum: 3 * second, Pause: quantity.WaitOf(50 * time.Millisecond), MaxSearch: 120 * second, Warmup: quantity.WaitOf(0)},
				{ID: "sweep", Kind: "udp_sweep", Rates: quantity.Rates{1e8, 2.5e8, 1e9}, Flows: 1, PayloadSize: 100, Warmup: quantity.WaitOf(0), Duration: second, Slice: quantity.Duration(25 * time.Millisecond)},
			},
		},
	} {
		path := filepath.Join("testdata", name+".plan")
		got := written(t, Make(s))
		if *updatePlans {
			must.Do(t, os.WriteFile(path, []byte(got), 0o600))
		}
		want := must.Get(os.ReadFile(path))(t)
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: the plan of this seed changed, so that recorded runs are not repeated by theirs; -update-plans writes it (-committed +got):\n%s", path, diff)
		}
	}
}
