// Command bench measures tare itself, in six packages: its cost (bench/owncost), its
// generator compared with others (bench/peers), the precision and accuracy of the method
// on the real lab (bench/method), the cost of watching a trial (bench/watching), agents that
// are started through ssh (bench/machines), and runs on a cluster (bench/kubernetes). Each of
// their tables is a section that -only selects. `make bench` runs it; it prints the tables of
// bench/README.md, and `make bench-aa` and the sections effect and protocol print those of
// docs/method/measured.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"tare/bench/harness"
	"tare/bench/kubernetes"
	"tare/bench/machines"
	"tare/bench/method"
	"tare/bench/owncost"
	"tare/bench/peers"
	"tare/bench/watching"
	"tare/internal/driver/subcommand"
)

// sections are all tables, in order.
func sections() []harness.Section {
	return []harness.Section{
		{Name: "cost", Run: owncost.Program},
		{Name: "docker", Run: owncost.Engines},
		{Name: "coverage", Run: method.Coverage},
		{Name: "turns", Run: method.Turns},
		{Name: "slices", Run: method.Slices},
		{Name: "placement", Run: method.Placement},
		{Name: "quick", Run: method.Quick},
		{Name: "resolution", Run: method.Resolution},
		{Name: "components", Run: method.Components},
		{Name: "peers-tcp", Run: peers.TCP},
		{Name: "peers-udp", Run: peers.UDP},
		{Name: "peers-rr", Run: peers.RR},
		{Name: "peers-crr", Run: peers.CRR},
		{Name: "peers-http", Run: peers.HTTP},
		{Name: "peers-http2", Run: peers.HTTP2},
		{Name: "peers-cpu", Run: peers.CPU},
		{Name: "pacing", Run: peers.Pacing},
		{Name: "gc", Run: peers.GCPauses},
		{Name: "aa", Run: itself, OnDemand: true},
		{Name: "effect", Run: method.Effect, OnDemand: true},
		{Name: "protocol", Run: method.Protocol, OnDemand: true},
		{Name: "watching", Run: watching.Watching, OnDemand: true},
		{Name: "live", Run: watching.LiveView, OnDemand: true},
		{Name: "machines", Run: machines.Machines, OnDemand: true},
		{Name: "kubernetes", Run: kubernetes.Kubernetes, OnDemand: true},
		{Name: "networks", Run: kubernetes.Networks, OnDemand: true},
		{Name: "report", Run: owncost.Reports, OnDemand: true},
		{Name: "others", Run: owncost.Others, OnDemand: true},
		{Name: "runs", Run: owncost.Runs, OnDemand: true},
		{Name: "growth", Run: owncost.Growth, OnDemand: true},
	}
}

// itself measures a mode against itself, that of a cluster where there is one.
func itself(ctx context.Context, b harness.Options) error {
	if method.OnCluster(b.AAMode) {
		return kubernetes.AA(ctx, b)
	}
	return method.AA(ctx, b)
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
	flag.IntVar(&b.Runs, "runs", 5, "number of quick runs")
	flag.IntVar(&b.Pairs, "pairs", 7, "number of interleaved pairs of a comparison with a peer")
	flag.IntVar(&b.AARuns, "aa-runs", 40, "number of runs of a mode against itself")
	flag.StringVar(&b.AAMode, "aa-mode", "host", "what they measure: any mode")
	flag.StringVar(&b.AARenew, "aa-renew", "auto", "in which blocks they recreate both copies: auto, once, or a number of blocks; from 2 on, the variance is split between set-ups and blocks")
	flag.StringVar(&b.AAWorkload, "aa-workload", "tcp_rr", "their workload: tcp_rr or tcp_stream")
	flag.IntVar(&b.EffectRuns, "effect-runs", 10, "number of runs with a known effect")
	flag.StringVar(&protocols, "protocols", "standard,paper", "the two profiles that must agree")
	flag.StringVar(&only, "only", "", "sections to run, separated by commas: "+strings.Join(names, ", ")+"; those from aa on run only when named")
	flag.StringVar(&b.NetworksFile, "networks-file", "networks.csv", "table that the section networks writes, with -runs rounds, for tare judge --rank")
	flag.IntVar(&b.WatchPairs, "watch-pairs", 21, "number of pairs of trials that measure the cost of watching")
	flag.DurationVar(&b.WatchLong, "watch-long", 1500*time.Millisecond, "timed window of each of these trials")
	flag.Parse()
	b.Protocols = strings.Split(protocols, ",")
	b.PeerRatios = new([]float64)
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
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
	peers.Summary(*b.PeerRatios)
}

// chosen checks the names of -only.
func chosen(only string, names []string) error {
	if only == "" {
		return nil
	}
	for name := range strings.SplitSeq(only, ",") {
		if !slices.Contains(names, name) {
			return fmt.Errorf("-only: unknown section %q; want %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}
