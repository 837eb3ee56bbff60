package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/driver"
	"tare/internal/hosts"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/why"
	"tare/internal/wording"
)

// bestTries is how many of the settings that helped most are tried in pairs.
const bestTries = 3

// try measures the settings that could help a mode, then pairs of the best, and ranks them.
func (a commands) try(c *cobra.Command, m driver.Mode, flagged study.Target, f runFlags) error {
	ctx, stop := a.Ending(c.Context()) // between the two runs, too
	defer stop()
	tries := why.Tries(m)
	ranked, err := a.tryAll(ctx, c, m, tries, flagged, f)
	if err != nil {
		return err
	}
	best := why.Pairs(best(ranked))
	if len(best) == 0 {
		return a.printed(ctx, func() error { concludeTries(a.Stdout, m.ID, ranked); return nil })
	}
	if f.out != "" {
		f.out += "-pairs"
	}
	fmt.Fprintln(a.Stderr, "tare: now the best of them in pairs")
	a.hosts = a.hosts.On(flagged, hosts.Options{AllowSwarm: f.Yes, Modes: []string{m.ID}})
	pairs, err := a.tryAll(ctx, c, m, best, flagged, f)
	if ctx.Err() != nil {
		return err
	}
	return errors.Join(err, a.printed(ctx, func() error { concludeTries(a.Stdout, m.ID, slices.Concat(ranked, pairs)); return nil }))
}

// printed prints to stdout, unless a signal to end comes first.
func (a commands) printed(ctx context.Context, print func() error) error {
	whole, err := command.Printed(ctx, print)
	if !whole {
		return command.WithCode(command.ExitInterrupted, errors.New("interrupted while the settings were printed"))
	}
	return err
}

// concludeTries prints the answer: what helps a mode most, or that nothing does.
func concludeTries(out io.Writer, mode string, tried []triedSetting) {
	var helping []triedSetting
	harm, same := 0, 0
	for _, t := range tried {
		switch {
		case t.helps():
			helping = append(helping, t)
		case t.harms():
			harm++
		case t.change.Verdict == result.Same || t.change.Verdict == result.Small:
			same++
		}
	}
	all := wording.Count(len(tried), "setting or pair was tried", "settings and pairs were tried")
	if len(helping) == 0 {
		fmt.Fprintf(out, "\nNothing is shown to make %s faster: %s; %d slower, %d without a difference, %d inconclusive.\n", mode, all, harm, same, len(tried)-harm-same)
		return
	}
	best := slices.MaxFunc(helping, func(x, y triedSetting) int { return cmp.Compare(x.gain(), y.gain()) })
	change, interval := wording.Delta(best.change.Ratio, best.change.RatioCI)
	fmt.Fprintf(out, "\n%s helps %s most: %s of %s %s %s. %s; %s.\n", best.Words(), mode, best.change.Metric, best.change.A.Workload, change, interval,
		all, wording.Count(len(helping), "helps", "help"))
}

// triedSetting is a try with what it changed.
type triedSetting struct {
	why.Try
	change result.Comparison
}

// tryAll measures tries in one run and prints their ranking. It returns those that have values,
// the best first.
func (a commands) tryAll(ctx context.Context, c *cobra.Command, m driver.Mode, tries []why.Try, flagged study.Target, f runFlags) ([]triedSetting, error) {
	s, err := why.TryStudy(m, tries)
	if err != nil {
		return nil, command.Usage(err)
	}
	s, err = a.resolveWhy(c, m.ID, a.thorough(s, m, f), flagged, f)
	if err != nil {
		return nil, command.Usage(err)
	}
	dir, err := a.measure(ctx, s, f)
	if err != nil {
		return nil, err
	}
	opened, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	run, _, err := opened.Load()
	if err != nil {
		return nil, fmt.Errorf("rank the settings: %w", err)
	}
	ranked := rankTries(run, tries)
	if len(ranked) == 0 {
		return nil, errors.New("no setting has a result; the reasons are above")
	}
	return ranked, a.printed(ctx, func() error { return printTries(a.Stdout, m.ID, ranked) })
}

// rankTries orders tries by what they change in the first primary metric of the run.
func rankTries(run result.Run, tries []why.Try) []triedSetting {
	var out []triedSetting
	for _, t := range tries {
		i := slices.IndexFunc(run.Comparisons, func(c result.Comparison) bool {
			known, ok := result.MetricNamed(c.Metric)
			return c.ID == t.Name && ok && known.Primary && c.Ratio != nil
		})
		if i >= 0 {
			out = append(out, triedSetting{t, run.Comparisons[i]})
		}
	}
	slices.SortStableFunc(out, func(x, y triedSetting) int { return cmp.Compare(y.gain(), x.gain()) })
	return out
}

// gain is the ratio to the mode as it is, above 1 if the setting helps.
func (t triedSetting) gain() float64 {
	if t.change.Better == result.Lower {
		return 1 / *t.change.Ratio
	}
	return *t.change.Ratio
}

// harms reports whether the setting is shown to make the mode slower, however little.
func (t triedSetting) harms() bool {
	return t.change.Verdict == result.Worse || t.change.Verdict == result.Small && t.gain() < 1
}

// helps reports whether it is shown to make it faster.
func (t triedSetting) helps() bool {
	return t.change.Verdict == result.Better || t.change.Verdict == result.Small && t.gain() > 1
}

// best are the first few tries, without those that are shown to harm.
func best(ranked []triedSetting) []why.Try {
	var out []why.Try
	for _, t := range ranked {
		if !t.harms() && len(out) < bestTries {
			out = append(out, t.Try)
		}
	}
	return out
}

// printTries prints what each setting changes, and how to make permanent what is shown to help.
func printTries(out io.Writer, mode string, ranked []triedSetting) error {
	first := ranked[0].change
	fmt.Fprintf(out, "\nWhat each setting changes, against %s (%s of %s)\n\n", mode, first.Metric, first.A.Workload)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, t := range ranked {
		change, interval := wording.Delta(t.change.Ratio, t.change.RatioCI)
		fmt.Fprintf(w, "%s\t%s %s\t%s\n", t.Words(), change, interval, wording.Word(t.change.Verdict))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, t := range ranked {
		if !t.helps() {
			continue
		}
		fmt.Fprintf(out, "\n%s, permanently:\n", t.Words())
		for _, line := range t.Permanent {
			fmt.Fprintf(out, "  %s\n", line)
		}
		fmt.Fprintf(out, "It gives up: %s.\n", t.GivesUp)
	}
	return nil
}
