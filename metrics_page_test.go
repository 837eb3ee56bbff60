package tare_test

import (
	"fmt"
	"strings"
	"testing"

	"tare/internal/result"
)

// docs/metrics.md lists every metric, from the list that reports use. `make drawings` writes it.
func TestMetricsPage(t *testing.T) {
	const file = "docs/metrics.md"
	var page strings.Builder
	page.WriteString(`# Metrics

*Reference. Answers: which metrics does tare report, in which unit and which way is better?*

This page is generated from the list in ` + "`internal/result`" + ` by ` + "`make drawings`" + `. A metric's name is the same in ` + "`run.json`" + `, in exports and in
flags such as ` + "`tare compare --metrics`" + `; [results](results.md) has the fields around it. The *main* metric of a workload is the one
that stopping and ` + "`tare check`" + ` use; ` + "`check`" + ` also uses CPU cost. A *detail* is in the full reports and in ` + "`run.json`" + `. The page of each [workload](workloads/README.md)
says which metrics it gives.

| metric | meaning | unit | better | shown as |
|---|---|---|---|---|
`)
	for _, m := range result.Metrics() {
		shown := "value"
		switch {
		case m.Primary:
			shown = "main"
		case m.Detail:
			shown = "detail"
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Title, m.Unit, m.Better, shown)
	}
	page.WriteString(`
` + "`memory`" + ` is the sum of the resident sets after a trial of the processes that a mode runs, without the generator, tare's own programs and what is in containers: proxies, tunnels in user space, the programs of
an engine. A page that several share counts several times; of an engine that others use too, all of its processes count. It has no ratio, because a baseline has no such processes, and
is unknown for modes without any and outside of Linux. What the kernel keeps for a mode's sockets is not in it.

[CPU cost](cpu-cost.md) defines the metrics that begin with ` + "`cpu_`" + `. A rate search has one metric ` + "`throughput_GOAL`" + ` for each loss goal in
percent ([the rate search](rate-search.md)).
`)
	generated(t, file, page.String())
}
