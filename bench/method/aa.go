package method

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"tare/bench/harness"
	"tare/internal/result"
	"tare/internal/stats"
)

// aaMost is the maximum number of 40 runs that may report a difference between a mode and
// itself: 5 % are expected, which is 2; more than 4 have a probability of 5 %.
const aaMost = 4

// aaCopy is the second copy of the mode that is measured against itself.
const aaCopy = "again"

// OnCluster reports whether a mode is one of a Kubernetes cluster.
func OnCluster(mode string) bool { return strings.HasPrefix(mode, "k8s/") }

// AA measures a mode against a second copy of itself repeatedly: every difference found is false.
func AA(ctx context.Context, b harness.Options) error {
	metric := map[string]string{"tcp_rr": "transaction_rate", "tcp_stream": "goodput"}[b.AAWorkload]
	if metric == "" {
		return fmt.Errorf("-aa-workload: %q is neither tcp_rr nor tcp_stream", b.AAWorkload)
	}
	workload, args := b.AAWorkload, []string{"--seed", ""}
	if OnCluster(b.AAMode) { // where pods may set reno alone, whatever the nodes use
		workload, args = "{workload: "+workload+", congestion_control: reno}", append(args, "--kube")
	}
	study := fmt.Sprintf("name: a-a\nprofile: quick\nmodes: [%[1]s, {id: %[2]s, mode: %[1]s}]\ncompare: [{a: %[2]s, b: %[1]s}]\nworkloads: [%[3]s]\nrenew: %[4]s\n", b.AAMode, aaCopy, workload, b.AARenew)
	found := map[result.Verdict]int{}
	var widths, ratios, variances []float64 // variances of the logarithm of the ratio, as one run predicts them
	var setups [][]float64
	misses, noisy := 0, 0
	least, fewest := 0, 0
	began := time.Now()
	for i := range b.AARuns {
		args[1] = fmt.Sprint(i + 1)
		o, err := b.Run(ctx, study, args...)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(o.Run.Comparisons, func(c result.Comparison) bool { return c.Metric == metric })
		if at < 0 {
			return fmt.Errorf("run %d does not compare %s with itself", i+1, b.AAMode)
		}
		c := o.Run.Comparisons[at].Cell()
		if o.Exit == harness.Unfit {
			noisy++
		}
		found[c.Verdict]++
		text := "no ratio"
		if l, err := logRatio(c); err == nil {
			ratios, widths = append(ratios, *c.Ratio), append(widths, harness.HalfWidth(c))
			variances = append(variances, l.SD*l.SD/float64(l.N))
			if c.RatioCI[0] > 1 || c.RatioCI[1] < 1 {
				misses++
			}
			text = harness.Ratio(c, 4)
		}
		blocks, own := bySetup(o.Trials, b.AAMode, b.AAWorkload, metric)
		if setups = append(setups, own...); i == 0 || len(own) < fewest {
			least, fewest = blocks, len(own)
		}
		fmt.Fprintf(os.Stderr, "bench aa: run %d of %d, %s: %s, %s\n", i+1, b.AARuns, o.Wall.Round(time.Second/10), c.Verdict, text)
	}
	within, between := "-", "-" // where no set-up has two blocks, the two levels cannot be told apart
	shared := slices.DeleteFunc(setups, func(of []float64) bool { return len(of) < 2 })
	if c, err := stats.VarianceComponents(shared); err == nil {
		within, between = fmt.Sprintf("%.2f %%", 100*math.Sqrt(c.Within)), fmt.Sprintf("%.2f %%", 100*math.Sqrt(c.Between))
	}
	harness.Title("%s against itself: %d runs of the quick profile, %s, renew %s", b.AAMode, b.AARuns, b.AAWorkload, b.AARenew)
	harness.Columns("worse", "better", "small", "same", "cannot tell", "of these noisy", "intervals that miss 1", "coverage", "median ratio", "median half-width", "largest",
		"ratios vary by", "one run predicts", "set-ups of blocks", "between set-ups", "between blocks of one", "whole")
	covered := "-"
	if len(ratios) > 0 {
		covered = fmt.Sprintf("%.0f %%", 100*float64(len(ratios)-misses)/float64(len(ratios)))
	}
	fmt.Printf("| %d | %d | %d | %d | %d | %d | %d of %d | %s | %.4f | %.1f %% | %.1f %% | %.2f %% | %.2f %% | %d of %d | %s | %s | %s |\n\n",
		found[result.Worse], found[result.Better], found[result.Small], found[result.Same], found[result.CannotTell], noisy, misses, len(ratios), covered,
		harness.Median(ratios), 100*harness.Median(widths), 100*most(widths), 100*harness.CV(ratios), 100*math.Sqrt(mean(variances)), fewest, least, between, within, time.Since(began).Round(time.Second))
	if claimed := found[result.Worse] + found[result.Better]; claimed*40 > aaMost*b.AARuns {
		return fmt.Errorf("%d of %d runs report a difference between %s and itself, more than %d of 40", claimed, b.AARuns, b.AAMode, aaMost)
	}
	if noisy == b.AARuns {
		return fmt.Errorf("all %d runs were too noisy for verdicts: use a less busy machine", b.AARuns)
	}
	return nil
}

// bySetup are the log ratios of the copy of a mode to the mode, by the two set-ups that they were measured on, and the number of blocks.
// The true ratio is 1, so those of several runs need no common level.
func bySetup(trials []result.Trial, mode, workload, metric string) (blocks int, out [][]float64) {
	of := func(mode string) map[int]result.Trial {
		at := map[int]result.Trial{}
		for _, t := range trials {
			if t.Mode == mode && t.Workload == workload && t.Status == result.TrialOK && !t.Pilot && t.Metrics[metric] > 0 {
				at[t.Block] = t
			}
		}
		return at
	}
	own, copies := of(mode), of(aaCopy)
	at := map[[2]int]int{}
	for block := range own {
		a, both := copies[block]
		if !both {
			continue
		}
		blocks++
		key := [2]int{a.Setup, own[block].Setup}
		i, known := at[key]
		if !known {
			i = len(out)
			at[key], out = i, append(out, nil)
		}
		out[i] = append(out[i], math.Log(a.Metrics[metric]/own[block].Metrics[metric]))
	}
	return blocks, out
}
