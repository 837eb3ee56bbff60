// Command bench measures tare itself: how steady its trials are under each
// placement and buffer size, what a quick run takes and resolves, and what the
// program costs. `make bench` runs it; the tables it prints are those of
// docs/performance.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
)

// section is one table.
type section struct {
	name string
	run  func(context.Context, bench) error
}

// bench is what the sections share.
type bench struct {
	tare string // the binary under test
	runs int    // repeats of a quick run
}

func main() {
	sections := []section{{"cost", cost}, {"turns", turns}, {"placement", placement}, {"quick", quick}}
	var b bench
	var only string
	flag.StringVar(&b.tare, "tare", "bin/tare", "binary to measure")
	flag.IntVar(&b.runs, "runs", 5, "how many quick runs")
	flag.StringVar(&only, "only", "", "sections to run, separated by commas: cost, turns, placement, quick")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, s := range sections {
		if only != "" && !slices.Contains(strings.Split(only, ","), s.name) {
			continue
		}
		if err := s.run(ctx, b); err != nil {
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", s.name, err)
			os.Exit(1)
		}
	}
}
