// Package watching measures the cost of watching a trial: with the collectors of a run,
// and with the live view.
package watching

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"tare/bench/harness"
	"tare/internal/lab"
	"tare/internal/stats"
)

// watchingMost is the maximum cost of watching ordinary trials, as a share of the metric.
const watchingMost = 0.03

// watchedCase is one row of the table.
type watchedCase struct {
	mode, watcher, load string
	ordinary            bool // used in ordinary trials: its cost is bounded
	ratios              []float64
}

// Watching measures the cost of watching: the same mode twice, interleaved, one of the
// two watched. Watchers that are too expensive for ordinary trials run in separate
// trials, and their cost is only reported.
func Watching(ctx context.Context, b harness.Options) (err error) {
	claim, cpus, err := claimed()
	if err != nil {
		return err
	}
	defer claim.Release()
	watchers, lacking := allWatchers(claim.ID)
	defer func() {
		for _, w := range watchers {
			err = errors.Join(err, w.Close())
		}
	}()
	var cases []watchedCase
	for _, mode := range []string{"host", "netns/vxlan"} {
		for _, load := range []string{"tcp_stream", "tcp_rr", "udp_stream"} {
			for _, w := range []struct {
				name     string
				ordinary bool
			}{{"nothing", true}, {"counters", true}, {"drop reasons", true}, {"stacks", false}} {
				if watchers[w.name] == nil {
					continue // lacking contains the reason
				}
				cases = append(cases, watchedCase{mode: mode, watcher: w.name, load: load, ordinary: w.ordinary})
			}
		}
	}
	long := b.WatchLong
	if err := watchAll(ctx, b, claim, cpus, watchers, cases, watchedLoads(long)); err != nil {
		return err
	}
	err = printWatching(cases, b.WatchPairs, long)
	for _, l := range lacking {
		fmt.Println("Not measured:", l)
	}
	return err
}

// watchAll runs all pairs: each case once, then each again, so that all cases see the
// same background load.
func watchAll(ctx context.Context, b harness.Options, claim lab.Claim, cpus []int, watchers map[string]watcher, cases []watchedCase, loads map[string]watchedLoad) (err error) {
	couples := map[string]*labPair{}
	defer func() {
		for _, c := range couples {
			err = errors.Join(err, c.close())
		}
	}()
	for _, c := range cases {
		if couples[c.mode] != nil {
			continue
		}
		if couples[c.mode], err = newLabPair(ctx, claim, c.mode); err != nil {
			delete(couples, c.mode)
			return err
		}
	}
	rng := rand.New(rand.NewPCG(1, uint64(b.WatchPairs))) //nolint:gosec // an order, no secret
	for n := range b.WatchPairs {
		fmt.Fprintf(os.Stderr, "bench watching: pair %d of %d, from %s\n", n+1, b.WatchPairs, time.Now().Format(time.TimeOnly))
		for _, i := range rng.Perm(len(cases)) {
			c := &cases[i]
			r, err := couples[c.mode].ratio(ctx, loads[c.load], watchers[c.watcher], cpus, rng)
			if err != nil {
				return fmt.Errorf("%s %s watched by %s: %w", c.mode, c.load, c.watcher, err)
			}
			c.ratios = append(c.ratios, r)
		}
	}
	return nil
}

// printWatching prints a row for each case, and one for each watcher over all modes and
// workloads, which has more pairs than a single case.
func printWatching(cases []watchedCase, pairs int, long time.Duration) error {
	harness.Title("The cost of watching: %d interleaved pairs of %s, one of each watched", pairs, long)
	harness.Columns("mode", "workload", "watched by", "watched / unwatched, median", "mean (95 %)", "under 3 %", "in trials that count")
	var errs []error
	for _, c := range append(slices.Clone(cases), pooled(cases)...) {
		errs = append(errs, c.print())
	}
	fmt.Println()
	return errors.Join(errs...)
}

// pooled has one case for each watcher, with the ratios of all its cases.
func pooled(cases []watchedCase) []watchedCase {
	var all []watchedCase
	for _, c := range cases {
		i := slices.IndexFunc(all, func(a watchedCase) bool { return a.watcher == c.watcher })
		if i < 0 {
			i, all = len(all), append(all, watchedCase{mode: "both", load: "all three", watcher: c.watcher, ordinary: c.ordinary})
		}
		all[i].ratios = append(all[i].ratios, c.ratios...)
	}
	return all
}

// print prints the case's row. It returns an error if a watcher of ordinary trials costs
// more than the bound.
func (c watchedCase) print() error {
	e, err := stats.GeoMeanInterval(c.ratios, 0.95)
	if err != nil {
		return err
	}
	cheap := "cannot tell"
	switch {
	case e.HasInterval && e.Lo > 1-watchingMost:
		cheap = "yes"
	case e.HasInterval && e.Hi < 1-watchingMost:
		cheap = "no"
		if c.ordinary {
			err = fmt.Errorf("watching %s %s by %s costs %.1f %%, more than %.0f %%", c.mode, c.load, c.watcher, 100*(1-e.Value), 100*watchingMost)
		}
	}
	ordinary := "no"
	if c.ordinary {
		ordinary = "yes"
	}
	fmt.Printf("| %s | %s | %s | %.3f | %s | %s | %s |\n", c.mode, c.load, c.watcher, harness.Median(c.ratios), harness.Interval(e, 3), cheap, ordinary)
	return err
}
