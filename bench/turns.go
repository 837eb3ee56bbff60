package main

import (
	"context"
	"fmt"
)

// turns compares trials that take turns with trials driven all at once, in the
// same blocks.
func turns(ctx context.Context, b bench) error {
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
	o, err := b.weigh(ctx, study)
	if err != nil {
		return err
	}
	fmt.Println("### In turns and all at once: 8 blocks of the same run")
	fmt.Println()
	fmt.Println("| workload | driven | mode | CV of the baseline | ratio (95 %) | half-width |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, w := range []struct{ workload, id, driven, metric string }{
		{"tcp_rr", "rr-at-once", "all at once", "transaction_rate"}, {"tcp_rr", "rr-turns", "in turns", "transaction_rate"},
		{"tcp_stream", "stream-at-once", "all at once", "goodput"}, {"tcp_stream", "stream-turns", "in turns", "goodput"},
	} {
		for _, mode := range []string{"netns/published", "netns/vxlan"} {
			c, err := o.cell(mode, w.id, w.metric)
			if err != nil {
				return err
			}
			fmt.Printf("| %s | %s | %s | %.1f %% | %.3f (%.3f-%.3f) | %.1f %% |\n", w.workload, w.driven, mode,
				100*cv(o.values("host", w.id, w.metric)), *c.Ratio, c.RatioCI[0], c.RatioCI[1], 100*halfWidth(c))
		}
	}
	fmt.Println()
	return nil
}
