package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/linuxnet"
	"tare/internal/machine"
	"tare/internal/report"
	"tare/internal/study"
	"tare/internal/wording"
)

// unitFlags choose in what the first screen shows changes, and for which network.
type unitFlags struct {
	unit string
	rtt  time.Duration
	like string
}

func (f *unitFlags) addUnit(c *cobra.Command) {
	c.Flags().StringVar(&f.unit, "unit", string(report.UnitBoth), "how changes are shown: percent, time (how much longer each exchange takes), or both")
}

// addRTT adds the flags about the reader's own network.
func (f *unitFlags) addRTT(c *cobra.Command) {
	c.Flags().DurationVar(&f.rtt, rttFlag, 0, "round trip of your own network, such as 300us: say what modes add as a share of it")
	c.Flags().StringVar(&f.like, likeFlag, "", "measure that round trip, to a machine that your ssh reaches: ssh://[user@]name[:port]")
}

const (
	rttFlag  = "rtt"
	likeFlag = "like"
)

// units are those of the flag.
func (f unitFlags) units() (report.Units, error) {
	if f.rtt < 0 || f.rtt > study.LongestRTT {
		return "", usage(fmt.Errorf("--rtt is %s; want up to %s", f.rtt, study.LongestRTT))
	}
	if f.unit == "" { // of a command without the flag
		return report.UnitBoth, nil
	}
	for _, u := range []report.Units{report.UnitBoth, report.UnitPercent, report.UnitTime} {
		if f.unit == string(u) {
			return u, nil
		}
	}
	return "", usage(fmt.Errorf("--unit is %q; want percent, time or both", f.unit))
}

// network is the reader's network by the flags: its round trip is given, or measured now. It is zero without either.
func (a App) network(background context.Context, f unitFlags, quiet bool) (study.Network, error) {
	given := study.Network{RTT: study.Duration(f.rtt), Like: f.like}
	if f.like == "" || f.rtt != 0 && linuxnet.Inside() { // see withRTT
		return given, nil
	}
	if f.rtt != 0 {
		return given, usage(errors.New("--rtt gives a round trip, and --like measures one; leave out one of them"))
	}
	at, err := machine.Parse(f.like)
	if err == nil && at.Local() {
		err = fmt.Errorf("%q is this machine; use ssh://[user@]name[:port]", f.like)
	}
	if err != nil {
		return given, usage(fmt.Errorf("--like: %w", err))
	}
	ctx, stop := a.ending(background)
	defer stop()
	rtt, err := machine.RoundTrip(ctx, at, machine.Options{})
	switch {
	case ctx.Err() != nil:
		return given, &codeError{exitInterrupted, errors.New("--like: interrupted")}
	case err != nil:
		return given, environment(fmt.Errorf("--like: %w", err))
	case rtt > study.LongestRTT:
		return given, environment(fmt.Errorf("--like: the round trip to %s is %s; want up to %s", at, rtt, study.LongestRTT))
	}
	given.RTT, given.Like = study.Duration(rtt), at.String()
	if !quiet {
		fmt.Fprintf(a.Stderr, "tare: the shortest round trip to %s is %s\n", given.Like, wording.Value(rtt.Seconds(), "s"))
	}
	return given, nil
}

// withRTT returns the program with a round trip that was measured among its arguments. As root of a user namespace this
// command is run again with them, where ssh reaches nothing.
func (a App) withRTT(rtt time.Duration) App {
	i := slices.IndexFunc(a.args, func(arg string) bool { return arg == "--"+likeFlag || strings.HasPrefix(arg, "--"+likeFlag+"=") })
	if i >= 0 {
		a.args = slices.Insert(slices.Clone(a.args), i, "--"+rttFlag+"="+rtt.String())
	}
	return a
}

// translated is the input of a report for a network; what it was before, if that is unknown.
func translated(in report.Input, network study.Network) report.Input {
	if network.RTT > 0 {
		in.RTT, in.RTTOf = network.RTT.Std(), network.Like
	}
	return in
}
