// Command bench measures tare itself: how steady its trials are under each
// placement and buffer size, what a quick run takes and resolves, what the
// program costs, and how its generator does beside others. `make bench` runs it;
// the tables it prints are those of docs/performance.md. Of the method on the real
// lab, for docs/method.md: `make bench-aa`, and the sections effect and protocol. What it costs to gather evidence: the section
// watching. What the live view costs: live. What rendering a report takes: the section report.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"tare/internal/driver/inner"
)

// section is one table.
type section struct {
	name  string
	run   func(context.Context, bench) error
	asked bool // takes so long that it runs only when -only names it
}

// bench is what the sections share.
type bench struct {
	tare  string // the binary under test
	runs  int    // repeats of a quick run
	pairs int    // interleaved pairs of a comparison with a peer

	aaRuns, effectRuns int      // runs of a baseline against itself, and with a known effect
	aaWorkload         string   // what drives the former
	protocols          []string // the two profiles that must agree
	watchPairs         int      // pairs of trials, one of each watched
	watchLong          time.Duration
	aloud              bool // a run's own progress is shown, because it takes long
}

func sections() []section {
	return []section{
		{name: "cost", run: cost}, {name: "docker", run: engines}, {name: "turns", run: turns}, {name: "placement", run: placement},
		{name: "quick", run: quick}, {name: "peers-tcp", run: peersTCP}, {name: "peers-udp", run: peersUDP}, {name: "peers-rr", run: peersRR},
		{name: "peers-crr", run: peersCRR}, {name: "peers-cpu", run: peersCPU}, {name: "pacing", run: pacing}, {name: "gc", run: gcPauses},
		{name: "aa", run: aa, asked: true}, {name: "effect", run: effect, asked: true}, {name: "protocol", run: protocol, asked: true},
		{name: "watching", run: watching, asked: true}, {name: "live", run: liveView, asked: true}, {name: "report", run: reports, asked: true}, {name: "others", run: others, asked: true},
	}
}

func main() {
	if done, err := inner.Inner(context.Background(), os.Args, "bench"); done || err != nil {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	all := sections()
	var names []string
	for _, s := range all {
		names = append(names, s.name)
	}
	var b bench
	var only, protocols string
	flag.StringVar(&b.tare, "tare", "bin/tare", "binary to measure")
	flag.IntVar(&b.runs, "runs", 5, "how many quick runs")
	flag.IntVar(&b.pairs, "pairs", 7, "how many interleaved pairs a comparison with a peer has")
	flag.IntVar(&b.aaRuns, "aa-runs", 40, "how many runs of a baseline against itself")
	flag.StringVar(&b.aaWorkload, "aa-workload", "tcp_rr", "what drives these: tcp_rr or tcp_stream")
	flag.IntVar(&b.effectRuns, "effect-runs", 10, "how many runs with a known effect")
	flag.StringVar(&protocols, "protocols", "standard,paper", "the two profiles that must agree")
	flag.StringVar(&only, "only", "", "sections to run, separated by commas: "+strings.Join(names, ", ")+"; those from aa on only when named")
	flag.IntVar(&b.watchPairs, "watch-pairs", 21, "how many pairs of trials the price of watching is measured by")
	flag.DurationVar(&b.watchLong, "watch-long", 1500*time.Millisecond, "how long each of these trials is timed")
	flag.Parse()
	b.protocols = strings.Split(protocols, ",")
	err := chosen(only, names)
	switch {
	case err != nil:
	case min(b.pairs, b.runs, b.aaRuns, b.effectRuns, b.watchPairs) < 1:
		err = fmt.Errorf("-pairs, -runs, -aa-runs, -effect-runs and -watch-pairs must be 1 or more")
	case b.watchLong < 200*time.Millisecond:
		err = fmt.Errorf("-watch-long must be 200ms or more")
	case len(b.protocols) != 2:
		err = fmt.Errorf("-protocols must name two profiles, not %q", protocols)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, s := range all {
		if only == "" && s.asked || only != "" && !slices.Contains(strings.Split(only, ","), s.name) {
			continue
		}
		if err := s.run(ctx, b); err != nil {
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", s.name, err)
			os.Exit(1)
		}
	}
}

// chosen checks the names of -only.
func chosen(only string, names []string) error {
	if only == "" {
		return nil
	}
	for name := range strings.SplitSeq(only, ",") {
		if !slices.Contains(names, name) {
			return fmt.Errorf("-only: there is no section %q, only %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}
