package method

import (
	"context"
	"fmt"
	"strings"

	"tare/bench/harness"
	"tare/internal/result"
	"tare/internal/stats"
)

// sliceMargin is within which the ratio of a mode in slices must be that in whole trials.
const sliceMargin = 0.03

// Slices tests whether the ratio of a mode to the host is the same in interleaved slices as in whole trials, for modes whose
// speed is that of a CPU. Both are in every block of one run, so what is compared is the ratio of two ratios of a block, and both have
// the same warm-up and duration: a connection over a tunnel in user space becomes faster for seconds, however it is measured. It is
// equivalent if its 95 % interval is within [sliceMargin] of 1.
func Slices(ctx context.Context, b harness.Options) error {
	modes := []string{"netns/bridge", "netns/vxlan", "wireguard/userspace"}
	const study = `name: slices
profile: quick
blocks: 40
modes: [host, netns/bridge, netns/vxlan, wireguard/userspace]
invalid: {steal: off, others: off, unsettled: off}
workloads:
  - {id: rr-slices, workload: tcp_rr, warmup: 200ms, duration: 600ms}
  - {id: rr-whole, workload: tcp_rr, slice: 1h, warmup: 200ms, duration: 600ms}
  - {id: stream-slices, workload: tcp_stream, warmup: 500ms, duration: 1s}
  - {id: stream-whole, workload: tcp_stream, slice: 1h, warmup: 500ms, duration: 1s}
`
	o, err := b.RunFit(ctx, study)
	if err != nil {
		return err
	}
	harness.Title("Slices and whole trials: ratios to the host in 40 blocks of the same run")
	harness.Columns("workload", "mode", "in slices", "whole", "slices / whole (95 %)", "within 3 %")
	for _, w := range []struct{ name, id, metric string }{{"tcp_stream", "stream", "goodput"}, {"tcp_rr", "rr", "transaction_rate"}} {
		for _, mode := range modes {
			sliced, whole := ofHost(o.Trials, mode, w.id+slicesID, w.metric), ofHost(o.Trials, mode, w.id+"-whole", w.metric)
			var x, y []float64
			for block, r := range sliced {
				if base, ok := whole[block]; ok {
					x, y = append(x, r), append(y, base)
				}
			}
			if len(x) == 0 { // a process forwards its packets: see schedule.Forwarded
				continue
			}
			d, err := stats.Paired(x, y)
			if err != nil {
				return fmt.Errorf("%s %s: %w", mode, w.name, err)
			}
			lo, hi, ok := d.Interval(0.95)
			within := "cannot tell"
			switch {
			case !ok:
			case lo >= 1-sliceMargin && hi <= 1+sliceMargin:
				within = "yes"
			case hi < 1-sliceMargin || lo > 1+sliceMargin:
				within = "no"
			}
			fmt.Printf("| %s | %s | %.3f | %.3f | %.3f (%.3f-%.3f) | %s |\n", w.name, mode, harness.Median(x), harness.Median(y), d.Ratio(), lo, hi, within)
		}
	}
	fmt.Println()
	return nil
}

// slicesID ends the names of the workloads in slices. Trials of theirs that ran in one piece do not count.
const slicesID = "-slices"

// ofHost is the ratio of a mode to the host in each block in which both have a value.
func ofHost(trials []result.Trial, mode, workload, metric string) map[int]float64 {
	values := map[string]map[int]float64{mode: {}, "host": {}}
	for _, t := range trials {
		if of := values[t.Mode]; of != nil && t.Workload == workload && (t.Held == 0 || !strings.HasSuffix(workload, slicesID)) && t.Status == result.TrialOK && t.Metrics[metric] > 0 {
			of[t.Block] = t.Metrics[metric]
		}
	}
	ratios := map[int]float64{}
	for block, v := range values[mode] {
		if host := values["host"][block]; host > 0 {
			ratios[block] = v / host
		}
	}
	return ratios
}
