package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/result"
	"tare/internal/warning"
)

// separated are the lines of trials.ndjson, by whether they count.
type separated struct {
	own      []result.Trial // in the order of the file
	apart    *result.Apart
	repeated []int // numbers of lines that repeat a trial
	last     int   // the highest number of a trial
}

// separate splits the trials of a directory. Those of the current session's experiment
// and build are its own; current is nil if no session was recorded, and for each mode and
// workload the newest trial then decides, so that the trials of an older program, of
// which neither is known, remain together. So it does for the facts of a mode that the
// session has not set up. Of lines with the same number, attempt and
// experiment only the first counts.
func separate(trials []result.Trial, current *result.Session, sessions []result.Session) separated {
	out := separated{own: trials}
	trials, out.repeated = unrepeated(trials)
	for _, t := range trials {
		out.last = max(out.last, t.Seq)
	}
	belongs := newMembership(trials, current)
	if !slices.ContainsFunc(trials, func(t result.Trial) bool { return !belongs.own(t) }) {
		out.own = trials
		return out
	}
	why := explanation{current: current, sessions: sessions, facts: belongs.facts}
	apart := &result.Apart{}
	out.own = nil
	var foreign []result.Trial
	for _, t := range trials {
		if belongs.own(t) {
			out.own = append(out.own, t)
			continue
		}
		foreign = append(foreign, t)
		why.add(t)
	}
	apart.Trials, apart.Numbers, apart.Causes = result.Count(foreign), numbers(seqs(foreign)), why.causes()
	out.apart = apart
	return out
}

// cell is a mode with a workload.
type cell struct{ mode, workload string }

// membership decides which trials belong to the run.
type membership struct {
	current    *result.Session
	build      string
	experiment map[cell]string
	facts      map[string]string // by mode: the hash of the facts that decide its trials, if it is known
}

func newMembership(trials []result.Trial, current *result.Session) membership {
	m := membership{current: current, experiment: map[cell]string{}, facts: map[string]string{}}
	if current != nil {
		m.build = current.Run.Tare.String()
	} else {
		for _, t := range trials {
			m.build, m.experiment[cell{t.Mode, t.Workload}] = t.Tare, t.Experiment
		}
	}
	for _, t := range trials {
		if t.FactsHash != "" && m.sameSettings(t) {
			m.facts[t.Mode] = t.FactsHash
		}
	}
	if current != nil {
		for _, mode := range current.Run.Modes {
			if hash := result.FactsHash(mode.Facts); hash != "" {
				m.facts[mode.ID] = hash
			}
		}
	}
	return m
}

// own reports whether a trial is of the run. One of a program that recorded no hash of facts can have had any.
func (m membership) own(t result.Trial) bool {
	return m.sameSettings(t) && (t.FactsHash == "" || t.FactsHash == m.facts[t.Mode])
}

// sameSettings reports whether build and settings of a trial are those of the run.
func (m membership) sameSettings(t result.Trial) bool {
	at := cell{t.Mode, t.Workload}
	want, known := m.experiment[at]
	if !known {
		want = m.current.Settings.Experiment(t.Mode, t.Workload)
		m.experiment[at] = want
	}
	return t.Tare == m.build && t.Experiment == want && (m.current == nil || want != "")
}

// unrepeated removes lines that repeat a trial. Trials of older programs repeat one only
// if they also started at the same time.
func unrepeated(trials []result.Trial) (kept []result.Trial, repeated []int) {
	if ascending(trials) {
		return trials, nil
	}
	type line struct {
		cell
		seq, block, attempt int
		experiment, tare    string
		started             int64
	}
	seen := map[line]bool{}
	for _, t := range trials {
		at := line{cell{t.Mode, t.Workload}, t.Seq, t.Block, t.Attempt, t.Experiment, t.Tare, 0}
		if t.Experiment == "" {
			at.started = t.Started.UnixNano()
		}
		if t.Seq > 0 && !t.Started.IsZero() && seen[at] {
			repeated = append(repeated, t.Seq)
			continue
		}
		seen[at] = true
		kept = append(kept, t)
	}
	return kept, repeated
}

// ascending reports whether the numbers of trials only increase, as in every file that
// was not edited.
func ascending(trials []result.Trial) bool {
	for i := 1; i < len(trials); i++ {
		if trials[i].Seq <= trials[i-1].Seq {
			return false
		}
	}
	return true
}

// explanation collects why trials are apart, and the trials for each cause.
type explanation struct {
	current  *result.Session
	sessions []result.Session
	facts    map[string]string // see membership
	found    []result.Cause
	trials   map[result.Cause][]int
	known    map[experiment][]result.Cause
}

// experiment is what a line says about what decided it.
type experiment struct {
	cell
	hash, facts, tare string
}

func (e *explanation) add(t result.Trial) {
	if e.trials == nil {
		e.trials, e.known = map[result.Cause][]int{}, map[experiment][]result.Cause{}
	}
	of := experiment{cell{t.Mode, t.Workload}, t.Experiment, t.FactsHash, t.Tare}
	why, done := e.known[of]
	if !done {
		why = e.why(of)
		e.known[of] = why
	}
	for _, c := range why {
		if _, old := e.trials[c]; !old {
			e.found = append(e.found, c)
		}
		e.trials[c] = append(e.trials[c], t.Seq)
	}
}

// why are the causes for trials of one experiment, without their numbers.
func (e *explanation) why(of experiment) (out []result.Cause) {
	if e.current == nil {
		return []result.Cause{{Scope: result.CauseUnknown}}
	}
	if build := e.current.Run.Tare.String(); of.tare != build {
		out = append(out, result.Cause{Scope: result.CauseBuild, Then: of.tare, Now: build})
	}
	if of.hash == e.current.Settings.Experiment(of.mode, of.workload) {
		if len(out) == 0 { // another build may find other facts
			return e.whyFacts(of)
		}
		return out
	}
	for _, s := range slices.Backward(e.sessions) {
		if s.Settings.Experiment(of.mode, of.workload) == of.hash && of.hash != "" {
			return append(out, s.Settings.Causes(e.current.Settings, of.mode, of.workload)...)
		}
	}
	if of.hash != "" {
		out = append(out, result.Cause{Scope: result.CauseUnknown})
	}
	return out
}

// whyFacts are the causes for trials whose mode had other facts.
func (e *explanation) whyFacts(of experiment) []result.Cause {
	then, now := e.factsOf(of.mode, of.facts), e.factsOf(of.mode, e.facts[of.mode])
	if then == nil || now == nil {
		return []result.Cause{{Scope: result.CauseUnknown}}
	}
	return result.FactCauses(of.mode, then, now)
}

// factsOf finds the facts of a mode by their hash, nil if no session recorded them.
func (e *explanation) factsOf(mode, hash string) []result.Fact {
	for _, s := range append(slices.Clip(e.sessions), *e.current) {
		for _, m := range s.Run.Modes {
			if m.ID == mode && result.FactsHash(m.Facts) == hash {
				return m.Facts
			}
		}
	}
	return nil
}

// causes are all causes with the numbers of their trials.
func (e *explanation) causes() []result.Cause {
	out := slices.Clone(e.found)
	for i, c := range out {
		out[i].Trials = numbers(e.trials[c])
	}
	return out
}

func seqs(trials []result.Trial) []int {
	var out []int
	for _, t := range trials {
		out = append(out, t.Seq)
	}
	return out
}

// mostRanges is how many ranges of numbers of trials are listed.
const mostRanges = 6

// numbers writes numbers of trials as ranges: 1-24, 30.
func numbers(seqs []int) string {
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	var parts []string
	for i := 0; i < len(seqs); {
		end := i
		for end+1 < len(seqs) && seqs[end+1] == seqs[end]+1 {
			end++
		}
		if len(parts) == mostRanges {
			return fmt.Sprintf("%s and %d more", strings.Join(parts, ", "), len(seqs)-i)
		}
		part := fmt.Sprint(seqs[i])
		if end > i {
			part += fmt.Sprintf("-%d", seqs[end])
		}
		parts = append(parts, part)
		i = end + 1
	}
	return strings.Join(parts, ", ")
}

// mostCauses is how many causes a warning names.
const mostCauses = 3

// note adds what was separated to the run, with a warning for each, unless it has it.
func (s separated) note(run result.Run) result.Run {
	run.Apart, run.Duplicates = s.apart, len(s.repeated)
	run.Warnings = slices.DeleteFunc(slices.Clone(run.Warnings), func(w result.Warning) bool {
		return w.Code == string(warning.OtherExperiment) || w.Code == string(warning.DuplicateTrials)
	})
	if a := s.apart; a != nil {
		run.Warnings = append(run.Warnings, warning.New(warning.OtherExperiment, "run",
			"trials of another experiment (%s) are in %s and count in no cell: %d, %s", a.Numbers, TrialsFile, warning.Said(a.Trials.Total()), causesText(a.Causes)))
	}
	if n := len(s.repeated); n > 0 {
		run.Warnings = append(run.Warnings, warning.New(warning.DuplicateTrials, "run",
			"lines of %s that repeat a trial: %d (%s); each trial counts once; the file was edited or put together from copies", TrialsFile, warning.Said(n), numbers(s.repeated)))
	}
	return run
}

// causesText names the first causes.
func causesText(all []result.Cause) string {
	var parts []string
	for _, c := range all[:min(mostCauses, len(all))] {
		parts = append(parts, c.Text("this run"))
	}
	if more := len(all) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return cmp.Or(strings.Join(parts, "; "), "the reason is not recorded")
}
