// Package method measures the method on the real lab: the precision of its results with
// different settings, whether it finds differences where there are none, and whether it
// finds a known one. The tables are those of docs/method/measured.md and bench/README.md.
package method

import (
	"context"
	"fmt"
	"strings"

	"tare/bench/harness"
	"tare/internal/result"
)

// variant is one way to run a workload.
type variant struct {
	workload, metric, placement, buffer string
}

func (v variant) id() string { return v.workload + "_" + v.placement + "_" + strings.ToLower(v.buffer) }

func (v variant) yaml() string {
	return fmt.Sprintf("  - {id: %s, workload: %s, placement: %s, send_buffer: %s, receive_buffer: %s}\n",
		v.id(), v.workload, v.placement, v.buffer, v.buffer)
}

// Placement compares placements and buffers in one interleaved run: every block contains
// all variants. The best one has the narrowest interval of its ratio to the baseline.
func Placement(ctx context.Context, b harness.Options) error {
	var all []variant
	for _, p := range []string{"one_core", "two_cores", "free"} {
		all = append(all, variant{"tcp_rr", "transaction_rate", p, "auto"})
		for _, buf := range []string{"auto", "128KiB", "256KiB", "512KiB", "1MiB"} {
			all = append(all, variant{"tcp_stream", "goodput", p, buf})
		}
	}
	var study strings.Builder
	study.WriteString("name: placement\nprofile: quick\nblocks: 8\nmodes: [host, netns/vxlan]\ninvalid: {steal: off, others: off, unsettled: off}\nworkloads:\n")
	for _, v := range all {
		study.WriteString(v.yaml())
	}
	o, err := b.RunFit(ctx, study.String())
	if err != nil {
		return err
	}
	harness.Title("Placement and buffers: spread over 8 blocks, host and netns/vxlan")
	harness.Columns("workload", "placement", "buffers", "host, median", "CV host", "CV vxlan", "ratio (95 %)", "half-width")
	for _, v := range all {
		c, err := o.Cell("netns/vxlan", v.id(), v.metric)
		if err != nil {
			return err
		}
		host, vxlan := o.Values("host", v.id(), v.metric), o.Values("netns/vxlan", v.id(), v.metric)
		fmt.Printf("| %s | %s | %s | %.3g | %.1f %% | %.1f %% | %s | %.1f %% |\n", v.workload, v.placement, v.buffer,
			harness.Median(host), 100*harness.CV(host), 100*harness.CV(vxlan), harness.Ratio(c, 3), 100*harness.HalfWidth(c))
	}
	fmt.Println()
	return nil
}

// Turns compares interleaved trials with trials that are not sliced, in the same blocks.
func Turns(ctx context.Context, b harness.Options) error {
	const study = `name: turns
profile: quick
blocks: 8
modes: [host, netns/published, netns/vxlan]
invalid: {steal: off, others: off, unsettled: off}
workloads:
  - {id: rr-turns, workload: tcp_rr}
  - {id: rr-at-once, workload: tcp_rr, slice: 1h}
  - {id: stream-turns, workload: tcp_stream}
  - {id: stream-at-once, workload: tcp_stream, slice: 1h, warmup: 500ms}
`
	o, err := b.RunFit(ctx, study)
	if err != nil {
		return err
	}
	harness.Title("Interleaved and whole trials: 8 blocks of the same run")
	harness.Columns("workload", "driven", "mode", "CV of the baseline", "ratio (95 %)", "half-width")
	for _, w := range []struct{ workload, id, driven, metric string }{
		{"tcp_rr", "rr-at-once", "whole", "transaction_rate"}, {"tcp_rr", "rr-turns", "interleaved", "transaction_rate"},
		{"tcp_stream", "stream-at-once", "whole", "goodput"}, {"tcp_stream", "stream-turns", "interleaved", "goodput"},
	} {
		for _, mode := range []string{"netns/published", "netns/vxlan"} {
			c, err := o.Cell(mode, w.id, w.metric)
			if err != nil {
				return err
			}
			fmt.Printf("| %s | %s | %s | %.1f %% | %s | %.1f %% |\n", w.workload, w.driven, mode,
				100*harness.CV(o.Values("host", w.id, w.metric)), harness.Ratio(c, 3), 100*harness.HalfWidth(c))
		}
	}
	fmt.Println()
	return nil
}

// Quick repeats the default quick run: its duration, the share of traffic in it, and the
// smallest difference that it detects.
func Quick(ctx context.Context, b harness.Options) error {
	var wall, share, over, rr, stream []float64
	harness.Title("The default quick run (5 modes, tcp_stream and tcp_rr)")
	harness.Columns("run", "wall", "with traffic", "beyond traffic, per trial", "vxlan tcp_rr ratio, half-width", "vxlan tcp_stream ratio, half-width")
	for i := range b.Runs {
		o, err := b.RunFit(ctx, "", "--profile", "quick", "--workloads", "tcp_stream,tcp_rr",
			"--modes", "host,netns/published,netns/bridge,netns/macvlan,netns/vxlan")
		if err != nil {
			return err
		}
		r, err := o.Cell("netns/vxlan", "tcp_rr", "transaction_rate")
		if err != nil {
			return err
		}
		s, err := o.Cell("netns/vxlan", "tcp_stream", "goodput")
		if err != nil {
			return err
		}
		traffic, beyond := shares(o.Trials)
		wall = append(wall, o.Wall.Seconds())
		share = append(share, traffic/o.Wall.Seconds())
		over = append(over, beyond)
		rr, stream = append(rr, harness.HalfWidth(r)), append(stream, harness.HalfWidth(s))
		fmt.Printf("| %d | %.1f s | %.0f %% | %.0f ms | %.3f, %.1f %% | %.3f, %.1f %% |\n", i+1, o.Wall.Seconds(), 100*traffic/o.Wall.Seconds(),
			1000*beyond, *r.Ratio, 100*harness.HalfWidth(r), *s.Ratio, 100*harness.HalfWidth(s))
	}
	fmt.Printf("| median | %.1f s | %.0f %% | %.0f ms | %.1f %% | %.1f %% |\n\n", harness.Median(wall), 100*harness.Median(share), 1000*harness.Median(over), 100*harness.Median(rr), 100*harness.Median(stream))
	return nil
}

// shares returns the sum of the seconds of traffic, warm-up included, and the median of a
// trial's other time without the settling wait.
func shares(trials []result.Trial) (traffic, beyond float64) {
	var rest []float64
	for _, t := range trials {
		traffic += t.Traffic
		rest = append(rest, t.Elapsed-t.Traffic)
	}
	return traffic, harness.Median(rest)
}
