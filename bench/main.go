// Command bench measures tare itself, in four programs: what it costs (bench/owncost), how
// its generator does beside others (bench/peers), how precise and how true the method is on
// the real lab (bench/method), and what it costs to watch a trial (bench/watching). Each of
// their tables is a section that -only names. `make bench` runs it; the tables it prints
// are those of docs/performance.md, and for docs/method.md those of `make bench-aa` and of
// the sections effect and protocol.
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

	"tare/bench/harness"
	"tare/bench/method"
	"tare/bench/owncost"
	"tare/bench/peers"
	"tare/bench/watching"
	"tare/internal/driver/subcommand"
)

// sections are all tables, in the order they are run.
func sections() []harness.Section {
	return []harness.Section{
		{Name: "cost", Run: owncost.Program},
		{Name: "docker", Run: owncost.Engines},
		{Name: "turns", Run: method.Turns},
		{Name: "placement", Run: method.Placement},
		{Name: "quick", Run: method.Quick},
		{Name: "peers-tcp", Run: peers.TCP},
		{Name: "peers-udp", Run: peers.UDP},
		{Name: "peers-rr", Run: peers.RR},
		{Name: "peers-crr", Run: peers.CRR},
		{Name: "peers-cpu", Run: peers.CPU},
		{Name: "pacing", Run: peers.Pacing},
		{Name: "gc", Run: peers.GCPauses},
		{Name: "aa", Run: method.AA, OnDemand: true},
		{Name: "effect", Run: method.Effect, OnDemand: true},
		{Name: "protocol", Run: method.Protocol, OnDemand: true},
		{Name: "watching", Run: watching.Watching, OnDemand: true},
		{Name: "live", Run: watching.LiveView, OnDemand: true},
		{Name: "report", Run: owncost.Reports, OnDemand: true},
		{Name: "others", Run: owncost.Others, OnDemand: true},
	}
}

func main() {
	if done, err := subcommand.Run(context.Background(), os.Args, "bench"); done || err != nil {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	all := sections()
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	var b harness.Options
	var only, protocols string
	flag.StringVar(&b.Tare, "tare", "bin/tare", "binary to measure")
	flag.IntVar(&b.Runs, "runs", 5, "how many quick runs")
	flag.IntVar(&b.Pairs, "pairs", 7, "how many interleaved pairs a comparison with a peer has")
	flag.IntVar(&b.AARuns, "aa-runs", 40, "how many runs of a baseline against itself")
	flag.StringVar(&b.AAWorkload, "aa-workload", "tcp_rr", "what drives these: tcp_rr or tcp_stream")
	flag.IntVar(&b.EffectRuns, "effect-runs", 10, "how many runs with a known effect")
	flag.StringVar(&protocols, "protocols", "standard,paper", "the two profiles that must agree")
	flag.StringVar(&only, "only", "", "sections to run, separated by commas: "+strings.Join(names, ", ")+"; those from aa on only when named")
	flag.IntVar(&b.WatchPairs, "watch-pairs", 21, "how many pairs of trials the price of watching is measured by")
	flag.DurationVar(&b.WatchLong, "watch-long", 1500*time.Millisecond, "how long each of these trials is timed")
	flag.Parse()
	b.Protocols = strings.Split(protocols, ",")
	err := chosen(only, names)
	switch {
	case err != nil:
	case min(b.Pairs, b.Runs, b.AARuns, b.EffectRuns, b.WatchPairs) < 1:
		err = fmt.Errorf("-pairs, -runs, -aa-runs, -effect-runs and -watch-pairs must be 1 or more")
	case b.WatchLong < 200*time.Millisecond:
		err = fmt.Errorf("-watch-long must be 200ms or more")
	case len(b.Protocols) != 2:
		err = fmt.Errorf("-protocols must name two profiles, not %q", protocols)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, s := range all {
		if only == "" && s.OnDemand || only != "" && !slices.Contains(strings.Split(only, ","), s.Name) {
			continue
		}
		if err := s.Run(ctx, b); err != nil {
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", s.Name, err)
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
