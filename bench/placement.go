package main

import (
	"context"
	"fmt"
	"strings"
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

// placement compares placements and buffers in one run, interleaved: all
// variants stand in every block. The steadiest is the one whose ratio to the
// baseline has the narrowest interval.
func placement(ctx context.Context, b bench) error {
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
	o, err := b.weigh(ctx, study.String())
	if err != nil {
		return err
	}
	fmt.Println("### Placement and buffers: spread over 8 blocks, host and netns/vxlan")
	fmt.Println()
	fmt.Println("| workload | placement | buffers | host, median | CV host | CV vxlan | ratio (95 %) | half-width |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, v := range all {
		c, err := o.cell("netns/vxlan", v.id(), v.metric)
		if err != nil {
			return err
		}
		host, vxlan := o.values("host", v.id(), v.metric), o.values("netns/vxlan", v.id(), v.metric)
		fmt.Printf("| %s | %s | %s | %.3g | %.1f %% | %.1f %% | %.3f (%.3f-%.3f) | %.1f %% |\n", v.workload, v.placement, v.buffer,
			median(host), 100*cv(host), 100*cv(vxlan), *c.Ratio, c.RatioCI[0], c.RatioCI[1], 100*halfWidth(c))
	}
	fmt.Println()
	return nil
}
