// Command bench measures tare itself: how steady its trials are under each
// placement and buffer size, what a quick run takes and resolves, what the
// program costs, and how its generator does beside others. `make bench` runs it;
// the tables it prints are those of docs/performance.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"tare/internal/engine"
)

// section is one table.
type section struct {
	name string
	run  func(context.Context, bench) error
}

// bench is what the sections share.
type bench struct {
	tare  string // the binary under test
	runs  int    // repeats of a quick run
	pairs int    // interleaved pairs of a comparison with a peer
}

func sections() []section {
	return []section{
		{"cost", cost}, {"docker", engines}, {"turns", turns}, {"placement", placement}, {"quick", quick},
		{"peers-tcp", peersTCP}, {"peers-udp", peersUDP}, {"peers-rr", peersRR}, {"peers-crr", peersCRR},
		{"peers-cpu", peersCPU}, {"pacing", pacing}, {"gc", gcPauses},
	}
}

func main() {
	if done, err := engine.Inner(context.Background(), os.Args, "bench"); done || err != nil {
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
	var only string
	flag.StringVar(&b.tare, "tare", "bin/tare", "binary to measure")
	flag.IntVar(&b.runs, "runs", 5, "how many quick runs")
	flag.IntVar(&b.pairs, "pairs", 7, "how many interleaved pairs a comparison with a peer has")
	flag.StringVar(&only, "only", "", "sections to run, separated by commas: "+strings.Join(names, ", "))
	flag.Parse()
	if err := chosen(only, names); err != nil || b.pairs < 1 || b.runs < 1 {
		if err == nil {
			err = fmt.Errorf("-pairs and -runs must be 1 or more")
		}
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, s := range all {
		if only != "" && !slices.Contains(strings.Split(only, ","), s.name) {
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
