package rundir

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/selection"
	"tare/internal/linuxnet"
	"tare/internal/machine"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/wording"
)

// ShownFlags choose how much of a result is printed.
type ShownFlags struct {
	Full, Quiet, Claims bool
	UnitFlags
}

// Add adds --full and --quiet.
func (f *ShownFlags) Add(c *cobra.Command) {
	c.Flags().BoolVar(&f.Full, "full", false, "print the whole report instead of one screen")
	f.addQuiet(c)
}

// AddClaims adds the flag that shows the claims instead of the modes.
func AddClaims(c *cobra.Command, claims *bool) {
	c.Flags().BoolVar(claims, "claims", false, "print which published claims of the study hold, instead of the table of modes")
}

func (f *ShownFlags) addQuiet(c *cobra.Command) {
	c.Flags().BoolVarP(&f.Quiet, "quiet", "q", false, "print the table alone")
}

// Table prints the results. The whole report ends with the file of its page, which the
// first screen names anyway.
func (f ShownFlags) Table(to command.Streams, prepared report.Prepared, dir string) error {
	if err := f.Text(to, prepared); err != nil || !f.Full || f.Quiet {
		return err
	}
	_, err := fmt.Fprintf(to.Stderr, "report: %s\n", filepath.Join(dir, store.PageFile))
	return err
}

// Text prints a report as suits the terminal: one screen, or what the flags ask for.
func (f ShownFlags) Text(to command.Streams, prepared report.Prepared) error {
	out, opt := to.Colours(), to.TextOptions()
	switch {
	case f.Quiet && f.Claims:
		return prepared.ClaimsTable(out, opt)
	case f.Claims:
		return prepared.Claims(out, opt)
	case f.Quiet:
		return prepared.Table(out, opt)
	case f.Full:
		return prepared.Text(out, opt)
	}
	return prepared.Overview(out, opt)
}

// WriteReports writes the reports of a run into its directory.
func WriteReports(dir *store.Dir, prepared report.Prepared) error {
	var page, text bytes.Buffer
	if err := errors.Join(prepared.HTML(&page), prepared.Markdown(&text)); err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	figures, err := prepared.Figures()
	if err != nil {
		return fmt.Errorf("render figures: %w", err)
	}
	files := map[string][]byte{store.PageFile: page.Bytes(), store.TextFile: text.Bytes(), store.AnswerFile: []byte(prepared.Answer() + "\n")}
	for name, svg := range figures {
		files[store.FiguresDir+"/"+name] = svg
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := dir.WriteFile(name, files[name]); err != nil {
			return err // the others would fail alike
		}
	}
	return nil
}

// Unwritten is why no report could be written into a run's directory, with what to do
// about it.
func Unwritten(dir string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC) {
		return command.Environment(fmt.Errorf("%w: make %s writable, or copy the run to a writable place; only the table was printed", err, dir))
	}
	return fmt.Errorf("%w: remove the file that is in the way", err)
}

// ClaimsOutcome is the error of claims that do not hold, or of which this cannot be told; nil if all hold. The screen has the
// reasons.
func ClaimsOutcome(claims []result.Claim) error {
	var not, open []string
	for _, c := range claims {
		switch c.Outcome {
		case result.ClaimHolds:
		case result.ClaimDoesNotHold:
			not = append(not, c.ID)
		default:
			open = append(open, c.ID)
		}
	}
	of := func(ids []string, one, many string) string {
		return wording.Count(len(claims), "claim", "claims") + ": " + wording.Count(len(ids), one, many) + " (" + strings.Join(ids, ", ") + ")"
	}
	switch {
	case len(not) > 0:
		return command.WithCode(command.ExitRegression, errors.New(of(not, "does not hold", "do not hold")))
	case len(open) > 0:
		return command.WithCode(command.ExitIncomplete, errors.New(of(open, "cannot be told", "cannot be told")))
	}
	return nil
}

// NoClaims is the error for a study without claims.
func NoClaims(name string) error {
	return fmt.Errorf("the study %s has no claims; tare claims lists those of the built-in studies", cmp.Or(name, "study"))
}

// UnitFlags choose in what the first screen shows changes, and for which network.
type UnitFlags struct {
	unit string
	rtt  time.Duration
	like string
}

// AddUnit adds --unit.
func (f *UnitFlags) AddUnit(c *cobra.Command) {
	c.Flags().StringVar(&f.unit, "unit", string(report.UnitBoth), "how changes are shown: percent, time (how much longer each exchange takes), or both")
}

// AddRTT adds the flags about the reader's own network.
func (f *UnitFlags) AddRTT(c *cobra.Command) {
	c.Flags().DurationVar(&f.rtt, selection.RTTFlag, 0, "round trip of your own network, such as 300us: say what modes add as a share of it")
	c.Flags().StringVar(&f.like, selection.LikeFlag, "", "measure that round trip, to a machine that your ssh reaches: ssh://[user@]name[:port]")
}

// Units are those of the flag.
func (f UnitFlags) Units() (report.Units, error) {
	if f.rtt < 0 || f.rtt > study.LongestRTT {
		return "", command.Usage(fmt.Errorf("--rtt is %s; want up to %s", f.rtt, study.LongestRTT))
	}
	if f.unit == "" { // of a command without the flag
		return report.UnitBoth, nil
	}
	for _, u := range []report.Units{report.UnitBoth, report.UnitPercent, report.UnitTime} {
		if f.unit == string(u) {
			return u, nil
		}
	}
	return "", command.Usage(fmt.Errorf("--unit is %q; want percent, time or both", f.unit))
}

// Network is the reader's network by the flags: its round trip is given, or measured now. It is zero without either.
func (f UnitFlags) Network(background context.Context, s command.Streams, quiet bool) (study.Network, error) {
	given := study.Network{RTT: quantity.Duration(f.rtt), Like: f.like}
	if f.like == "" || f.rtt != 0 && linuxnet.Inside() { // see withRTT
		return given, nil
	}
	if f.rtt != 0 {
		return given, command.Usage(errors.New("--rtt gives a round trip, and --like measures one; leave out one of them"))
	}
	at, err := machine.Parse(f.like)
	if err == nil && at.Local() {
		err = fmt.Errorf("%q is this machine; use ssh://[user@]name[:port]", f.like)
	}
	if err != nil {
		return given, command.Usage(fmt.Errorf("--like: %w", err))
	}
	ctx, stop := s.Ending(background)
	defer stop()
	rtt, err := machine.RoundTrip(ctx, at, machine.Options{})
	switch {
	case ctx.Err() != nil:
		return given, command.WithCode(command.ExitInterrupted, errors.New("--like: interrupted"))
	case err != nil:
		return given, command.Environment(fmt.Errorf("--like: %w", err))
	case rtt > study.LongestRTT:
		return given, command.Environment(fmt.Errorf("--like: the round trip to %s is %s; want up to %s", at, rtt, study.LongestRTT))
	}
	given.RTT, given.Like = quantity.Duration(rtt), at.String()
	if !quiet {
		fmt.Fprintf(s.Stderr, "tare: the shortest round trip to %s is %s\n", given.Like, wording.Value(rtt.Seconds(), "s"))
	}
	return given, nil
}

// Translated is the input of a report for a network; what it was before, if that is unknown.
func Translated(in report.Input, network study.Network) report.Input {
	if network.RTT > 0 {
		in.RTT, in.RTTOf = network.RTT.Std(), network.Like
	}
	return in
}
