package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/verdict"
	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/result"
	"tare/internal/wording"
)

// limitsOf reads the limits of a command line.
func limitsOf(texts []string) ([]verdict.Limit, error) {
	var out []verdict.Limit
	for _, text := range texts {
		l, err := verdict.ParseLimit(text)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// checkLimits judges the limits of a run, each a case, and prints a line for each if told is set. The error has the exit
// code of the worst.
func (a commands) checkLimits(name string, limits []verdict.Limit, told bool) ([]checkCase, error) {
	dir, err := rundir.Find(name)
	if err != nil {
		return nil, command.NotReadable(err)
	}
	defer dir.Close()
	in, err := a.runs.Input(dir)
	if err != nil {
		return nil, command.NotReadable(err)
	}
	var cases []checkCase
	var broken, open, noisy []string
	for _, l := range limits {
		outcome, why, cell := l.Judge(in.Run.Cells)
		tooNoisy := outcome != verdict.LimitOpen && in.Run.NoisyIn(l.Workload)
		if tooNoisy {
			outcome, why = verdict.LimitOpen, "the run is too noisy to judge"
		}
		if cell != nil {
			if idle := l.Idle(*cell); idle != "" {
				return nil, command.Usage(fmt.Errorf("limit %q: %s", l.Text, idle))
			}
		}
		line := l.Text + ": " + string(outcome)
		if cell != nil {
			line += ", " + seenBy(l, *cell)
		}
		if why != "" {
			line += "; " + why
		}
		if told {
			fmt.Fprintln(a.Stdout, wording.Clean(line))
		}
		c := checkCase{Group: "limits", Name: l.Text}
		switch outcome {
		case verdict.LimitBroken:
			broken = append(broken, line)
			c.Kind, c.Failure = "limit", line
		case verdict.LimitOpen:
			if tooNoisy {
				noisy = append(noisy, line)
			} else {
				open = append(open, line)
			}
			c.Kind, c.Failure = "cannot_tell", line // the check does not pass
		default:
			c.Passed = line
		}
		cases = append(cases, c)
	}
	switch {
	case len(broken) > 0:
		return cases, command.WithCode(command.ExitRegression, errors.New("check: "+strings.Join(broken, "; ")))
	case len(noisy) > 0:
		return cases, command.WithCode(command.ExitUnfit, errors.New("check: cannot tell: "+strings.Join(slices.Concat(noisy, open), "; ")))
	case len(open) > 0:
		return cases, command.WithCode(command.ExitIncomplete, errors.New("check: cannot tell: "+strings.Join(open, "; ")))
	}
	return cases, nil
}

// seenBy is what a limit is about, with its interval.
func seenBy(l verdict.Limit, c result.Cell) string {
	text, interval := "", ""
	switch {
	case l.IsChange():
		text, interval = wording.InPercent.Delta(c.Ratio, c.RatioCI)
	case l.IsTime() && c.Added == nil:
		return wording.Unknown
	case l.IsTime():
		return wording.AddedTime(*c.Added)
	case c.Value == nil:
		return wording.Unknown
	default:
		scale := wording.ScaleFor(c.Unit, *c.Value)
		text = scale.Estimate(c.Value, c.CI) + " " + scale.Unit
	}
	return strings.TrimSpace(text + " " + interval)
}

// worst is the error whose exit code says more: a regression before what cannot be told.
func worst(a, b error) error {
	if a == nil || command.IsCoded(b) && (!command.IsCoded(a) || command.ExitCode(b) == command.ExitRegression) {
		return b
	}
	return a
}
