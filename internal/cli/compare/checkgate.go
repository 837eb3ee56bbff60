package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/verdict"
	"tare/internal/cli/command"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/wording"
)

// gate is what a check fails on.
type gate struct {
	on     []string
	margin string // of worse, as written
}

// failures are what --fail-on can list.
func failures() []string { return []string{"worse", "lost", "cannot_tell", "refused"} }

func gateOf(failOn []string) (gate, error) {
	var g gate
	for _, text := range failOn {
		name, margin, has := strings.Cut(strings.TrimSpace(text), ":")
		if !slices.Contains(failures(), name) || has && name != "worse" {
			return g, fmt.Errorf("--fail-on is %q; allowed: worse, worse:SHARE such as worse:5%%, lost, cannot_tell, refused", text)
		}
		if has {
			if _, err := share(margin); err != nil {
				return g, fmt.Errorf("--fail-on %s: the share %w", text, err)
			}
			g.margin = margin
		}
		g.on = append(g.on, name)
	}
	return g, nil
}

// verdict is how a check ends: the line of one that passed, or the error of a regression
// or of runs of which nothing could be judged. Either says what would settle the changes
// that cannot be told.
func (g gate) verdict(c result.Changes) (passed string, err error) {
	var found []string
	code := command.ExitIncomplete
	judged, unsure, needed := 0, 0, 0
	for _, cell := range c.Cells {
		if cell.Own || cell.Verdict == "" { // the machine's, or a maximum
			continue
		}
		if g.fails(cell) != "" {
			code = command.ExitRegression
			found = append(found, changeSentence(cell))
		}
		if cell.Verdict != result.CannotTell {
			judged++
			continue
		}
		unsure++
		if by, blocks := verdict.Settle(cell.Cell(), false, c.Noisy != ""); by == verdict.SettleBlocks {
			needed = max(needed, blocks)
		}
	}
	open := ""
	if unsure > 0 {
		open = fmt.Sprintf("; %d of %d changes cannot be told", unsure, judged+unsure)
		if needed > 0 {
			open += ", which " + wording.Count(needed, "more block", "more blocks") + " in each run would settle"
		}
	}
	for _, m := range c.Modes {
		if m.Lost() && slices.Contains(g.on, "lost") {
			found = append(found, lostSentence(m))
		}
	}
	if n := len(c.Missing); n > 0 && slices.Contains(g.on, "lost") {
		found = append(found, missingSentence(c.Missing[0])+andMore(n))
	}
	if n := len(c.Refused); n > 0 && slices.Contains(g.on, "refused") {
		found = append(found, refusedSentence(c.Refused[0])+andMore(n))
	}
	switch {
	case len(found) > 0:
		return "", command.WithCode(code, fmt.Errorf("check: %s%s", strings.Join(found, "; "), open))
	case c.Basis != nil && c.Basis.Reason != "":
		return "", command.WithCode(command.ExitUnfit, errors.New("check: cannot tell: "+c.Basis.Reason+leftOut(c.Basis.LeftOut)))
	case c.Noisy != "":
		return "", command.WithCode(command.ExitUnfit, errors.New("check: "+c.Noisy))
	case judged == 0:
		return "", command.WithCode(command.ExitUnfit, errors.New("check: no mode could be judged"+open+"; the table and the notes above say why"))
	}
	return fmt.Sprintf("check passed: %s, no regression%s", wording.Count(judged, "change judged", "changes judged"), open), nil
}

// cases are what the gate looks at, each a case: it has failed if, and only if, it makes the check fail. outcome is that of
// [gate.verdict]; if there was nothing to judge, it is a case of its own.
func (g gate) cases(c result.Changes, outcome error) []checkCase {
	var out []checkCase
	for _, cell := range c.Cells {
		if cell.Own || cell.Verdict == "" {
			continue
		}
		one := checkCase{Group: cell.Workload, Name: cell.Mode + " " + cell.Metric, Kind: g.fails(cell)}
		switch text := changeSentence(cell); {
		case one.Kind != "":
			one.Failure = text
		case cell.Verdict == result.CannotTell:
			one.Open = text
		default:
			one.Passed = text
		}
		out = append(out, one)
	}
	add := func(kind, group, name, text string) {
		one := checkCase{Group: group, Name: name, Kind: kind, Open: text}
		if slices.Contains(g.on, kind) {
			one.Failure, one.Open = text, ""
		}
		out = append(out, one)
	}
	for _, m := range c.Modes {
		if m.Lost() {
			add("lost", "modes", m.Mode, lostSentence(m))
		}
	}
	for _, m := range c.Missing {
		add("lost", "missing", m.String(), missingSentence(m))
	}
	for _, r := range c.Refused {
		add("refused", "comparable", strings.TrimSpace(refusedWhat(r)+" "+r.Reason), refusedSentence(r))
	}
	if command.ExitCode(outcome) == command.ExitUnfit {
		out = append(out, checkCase{Group: "check", Name: "the runs can be judged", Kind: "unfit", Failure: outcome.Error()})
	}
	return out
}

// fails is the word of --fail-on by which a change fails the check; empty if it does not.
func (g gate) fails(c result.Change) string {
	for _, f := range []struct {
		verdict result.Verdict
		word    string
	}{{result.Worse, "worse"}, {result.CannotTell, "cannot_tell"}} {
		if c.Verdict == f.verdict && slices.Contains(g.on, f.word) {
			return f.word
		}
	}
	return ""
}

func changeSentence(c result.Change) string {
	return fmt.Sprintf("%s %s %s is %s", c.Mode, c.Workload, c.Metric, report.ChangeTold(c))
}

func lostSentence(m result.ModeChange) string {
	return fmt.Sprintf("%s was measured and is now %s", m.Mode, orMissing(m.After))
}

func missingSentence(p result.Pair) string { return p.String() + " was measured and is not now" }

func refusedWhat(r result.Refusal) string {
	return cmp.Or(strings.TrimSpace(r.Mode+" "+r.Workload), "the whole run")
}

func refusedSentence(r result.Refusal) string {
	return refusedWhat(r) + " is not comparable: " + r.Reason
}

// andMore counts all of n but the first, which is told.
func andMore(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n-1)
}

// leftOut says how many runs were left out, and why the last of them.
func leftOut(out []result.LeftOut) string {
	if len(out) == 0 {
		return ""
	}
	last := out[len(out)-1]
	return fmt.Sprintf("; %s left out, the last one, %s, because %s", wording.Count(len(out), "run was", "runs were"), last.Path, last.Reason)
}

func orMissing(s result.ModeStatus) string {
	if s == "" {
		return "not in the run"
	}
	return string(s)
}
