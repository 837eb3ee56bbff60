package results

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/analysis/identity"
	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/wording"
)

// pruneOptions are which runs prune keeps.
type pruneOptions struct {
	keep      int
	olderThan string
	yes       bool
}

func (a commands) pruneCommand() *cobra.Command {
	var o pruneOptions
	c := &cobra.Command{
		Use: "prune [DIR]", Short: "Remove old runs", Args: command.AtMostOne(),
		Long: "Remove old runs below a directory ($TARE_RUNS or tare-runs when absent). Without --yes it\n" +
			"only lists what it would remove.\n\n" +
			"Of each study on each machine, the newest complete runs are kept (--keep), with all runs that\n" +
			"are newer than the oldest of them. With --older-than, younger runs are kept too. Studies are\n" +
			"told apart by what decides their results, machines as tare history does.\n\n" +
			"Never removed: runs under way, runs that cannot be read or whose study or start is not\n" +
			"recorded or in the future, runs of other users, directories that contain anything but what a run writes, and\n" +
			"what is behind symbolic links. A removal that was killed is finished by the next one.",
		Example: "  tare prune --keep 50\n  tare prune --older-than 90d --keep 10 --yes results",
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("keep") && o.olderThan == "" {
				return command.Usage(errors.New("prune: name what to keep: --keep N, --older-than AGE or both"))
			}
			return a.prune(c.Context(), args, o)
		},
	}
	c.Flags().IntVar(&o.keep, "keep", 1, "complete runs to keep of each study on each machine; 0 only with --older-than")
	c.Flags().StringVar(&o.olderThan, "older-than", "", "only remove runs that started longer ago, such as 36h, 90d or 12w")
	c.Flags().BoolVar(&o.yes, "yes", false, "remove them, instead of only listing them")
	return c
}

// agePattern is an age, in hours, days or weeks.
var agePattern = regexp.MustCompile(`^([0-9]{1,6})([hdw])$`)

// mostAge is the maximum of an age, in hours: 100 years. A longer one does not fit into a
// duration.
const mostAge = 100 * 365 * 24

// parseAge reads an age such as 90d.
func parseAge(text string) (time.Duration, error) {
	m := agePattern.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("prune: --older-than %q is not an age: write it in hours, days or weeks, such as 36h, 90d or 12w", text)
	}
	hours, err := strconv.Atoi(m[1])
	if err != nil {
		return 0, err
	}
	hours *= map[string]int{"h": 1, "d": 24, "w": 7 * 24}[m[2]]
	if hours > mostAge {
		return 0, fmt.Errorf("prune: --older-than %s is more than 100 years", text)
	}
	return time.Duration(hours) * time.Hour, nil
}

func (a commands) prune(ctx context.Context, args []string, o pruneOptions) error {
	dir, now := rundir.Under(args), time.Now()
	before := now
	if o.olderThan != "" {
		age, err := parseAge(o.olderThan)
		if err != nil {
			return command.Usage(err)
		}
		before = before.Add(-age)
	}
	if o.keep < 0 || o.keep == 0 && o.olderThan == "" {
		return command.Usage(fmt.Errorf("prune: --keep %d would remove every run: keep at least 1, or add --older-than", o.keep))
	}
	all, err := prunable(dir)
	if err != nil {
		return rundir.NoneYet(a.Streams, args, err)
	}
	if len(all) == 1 && filepath.Clean(all[0].Path) == filepath.Clean(dir) {
		return command.Usage(fmt.Errorf("prune: %s is a run: name the directory that contains it", dir))
	}
	r, err := store.OpenRemover(dir)
	if err != nil {
		return command.NotReadable(err)
	}
	unfinished, err := r.Unfinished()
	if err != nil {
		return errors.Join(command.NotReadable(err), r.Close())
	}
	p := pruning{to: a.Streams, remover: r, yes: o.yes}
	for _, path := range unfinished {
		p.remove(store.Summary{Path: path}, "unfinished removal")
	}
	old, future := outdated(all, o.keep, before, now)
	for _, run := range future {
		fmt.Fprintf(a.Stderr, "tare: kept: %s starts on %s by a clock that was wrong, and does not count for --keep; remove it by hand\n", wording.Clean(run.Path), run.Started.Local().Format("2006-01-02"))
	}
	for _, run := range old {
		if ctx.Err() != nil {
			break
		}
		p.remove(run.Summary, run.Started.Local().Format("2006-01-02 15:04")+"  "+command.OrDash(run.Study))
	}
	p.summary(len(all) + len(unfinished))
	err = errors.Join(append(p.errs, r.Close())...)
	if ctx.Err() != nil {
		return command.WithCode(command.ExitInterrupted, cmp.Or(err, command.ErrSilent))
	}
	return err
}

// pruneRun is a run with its study and machine. It has no group if these are not known.
type pruneRun struct {
	store.Summary
	group string
}

// prunable lists all runs below a directory, oldest first.
func prunable(dir string) ([]pruneRun, error) {
	var out []pruneRun
	err := store.EachRecord(dir, func(store.Summary) bool { return true }, func(r store.Record) error {
		run := pruneRun{Summary: r.Summary}
		if r.Problem == "" && r.Hash != "" && !r.Started.IsZero() {
			machine, _ := identity.Of(r.Run)
			run.group = strconv.Quote(r.Study) + r.Hash + " " + machine
		}
		out = append(out, run)
		return nil
	})
	return out, err
}

// mostAhead is how far the clock of another machine may be ahead of this one's.
const mostAhead = 24 * time.Hour

// outdated are the runs to remove, oldest first: those that started before a time and before
// the last complete ones of their group that are kept. What starts in the future says nothing
// about which run is newer.
func outdated(all []pruneRun, keep int, before, now time.Time) (old, future []pruneRun) {
	complete := map[string]int{}
	for _, r := range slices.Backward(all) {
		switch {
		case r.Started.After(now.Add(mostAhead)):
			future = append(future, r)
			continue
		case r.group == "":
			continue
		case complete[r.group] >= keep && r.Started.Before(before):
			old = append(old, r)
		}
		if r.Status == result.RunComplete {
			complete[r.group]++
		}
	}
	slices.Reverse(old)
	return old, future
}

// pruning removes runs, or lists what it would remove, and counts.
type pruning struct {
	to      command.Streams
	remover *store.Remover
	yes     bool
	runs    int
	store.Contents
	errs []error
}

func (p *pruning) remove(run store.Summary, what string) {
	act, verb := p.remover.Check, "would remove"
	if p.yes {
		act, verb = p.remover.Remove, "removed"
	}
	done, err := act(run.Path)
	p.Files += done.Files
	p.Bytes += done.Bytes
	switch {
	case errors.Is(err, store.ErrInUse) || errors.Is(err, store.ErrForeign) || errors.Is(err, store.ErrContents) || errors.Is(err, store.ErrNotRun):
		fmt.Fprintf(p.to.Stderr, "tare: kept: %s\n", command.Shown(err))
	case errors.Is(err, fs.ErrNotExist):
		// Somebody else removed it.
	case err != nil:
		p.errs = append(p.errs, err)
	default:
		p.runs++
		fmt.Fprintf(p.to.Stdout, "%s  %s  %s  %s\n", verb, what, wording.Value(float64(done.Bytes), "B"), wording.Clean(run.Path))
	}
}

// summary prints what was removed, or would be.
func (p *pruning) summary(of int) {
	size := fmt.Sprintf("%d of %s, %d bytes", p.runs, wording.Count(of, "run", "runs"), p.Bytes)
	switch {
	case p.yes && (p.runs > 0 || p.Files > 0):
		fmt.Fprintf(p.to.Stdout, "removed %s in %s\n", size, wording.Count(p.Files, "file", "files"))
	case p.runs > 0:
		fmt.Fprintf(p.to.Stdout, "would remove %s in %s: nothing was removed; --yes removes them\n", size, wording.Count(p.Files, "file", "files"))
	default:
		fmt.Fprintln(p.to.Stdout, "nothing to remove")
	}
}
