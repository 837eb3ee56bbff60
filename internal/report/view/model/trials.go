package model

import (
	"fmt"
	"strconv"
	"strings"

	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// Paired returns how numbers from another program were compared.
func Paired(r result.Run) string {
	switch r.Pairing {
	case "block":
		return "values paired by block"
	case "order":
		return "values paired in their order"
	}
	return "values not paired"
}

// Seed is the run's seed; it is unknown where the run ended before it wrote run.json.
func Seed(r result.Run) string {
	if r.Seed == 0 {
		return "unknown"
	}
	return strconv.FormatUint(r.Seed, 10)
}

// Took is how long a run took; empty when that is not known.
func Took(r result.Run) string {
	if r.Started.IsZero() || r.Finished.IsZero() || r.Finished.Before(r.Started) {
		return ""
	}
	return wording.Duration(r.Finished.Sub(r.Started))
}

// Version is the build of tare that made a run: "0.3.0 (3f1c2ab9)".
func Version(r result.Run) string {
	s := piece.OrUnknown(r.Tare.Version)
	if r.Tare.Commit != "" {
		s += " (" + wording.Cut(r.Tare.Commit, 15) + ")"
	}
	return s
}

// Particulars are what identifies a run, in one line.
func Particulars(v View) []string {
	if v.Run.Source != "" {
		return []string{Paired(v.Run), "judged by tare " + Version(v.Run)}
	}
	out := []string{"run " + piece.OrUnknown(v.Run.ID)}
	if v.Run.Profile != "" {
		out = append(out, "profile "+v.Run.Profile)
	}
	out = append(out, "seed "+Seed(v.Run), wording.Time(v.Run.Started))
	if d := Took(v.Run); d != "" {
		out = append(out, "took "+d)
	}
	return append(out, "tare "+Version(v.Run))
}

// limitFactis the suffix of a fact with the limits of an endpoint: "client limit", "server
// limit".
const limitFact = "limit"

// LimitsText describes the limits of a mode's endpoints: "0.5 CPUs, 64 MiB each", or each
// endpoint's where they differ. Empty for no limit.
func LimitsText(m result.Mode) string {
	var parts, bare []string
	for _, f := range m.Facts {
		if name, ok := strings.CutSuffix(f.Name, limitFact); ok && f.Value != "" {
			parts, bare = append(parts, strings.TrimSpace(name+f.Value)), append(bare, f.Value)
		}
	}
	if len(bare) == 2 && bare[0] == bare[1] {
		return bare[0] + " each"
	}
	return strings.Join(parts, "; ")
}

// trialCounts counts the trials of a run, with the special ones.
type trialCounts struct {
	result.Tally
	Pilots, Paces, Tails, Profiled, Again int // of them all: pilot trials; those to find a rate; those of the tail pass; those to sample stacks; trials of sets that were run once more
	Apart                                 int // beside them: of another experiment
}

func countTrials(in Input) trialCounts {
	t := trialCounts{Tally: in.Run.Trials}
	if in.Run.Apart != nil {
		t.Apart = in.Run.Apart.Trials.Total()
	}
	if len(in.Trials) == 0 {
		return t
	}
	t.Tally = result.Count(in.Trials)
	for _, trial := range in.Trials {
		if trial.Pilot {
			t.Pilots++
		}
		if trial.Paces {
			t.Paces++
		}
		if trial.TailRate > 0 {
			t.Tails++
		}
		if trial.Profiled {
			t.Profiled++
		}
		if trial.Requeued {
			t.Again++
		}
	}
	t.Failed = len(in.Trials) - t.OK - t.Invalid // any other status in a file
	return t
}

// String counts the trials in words.
func (t trialCounts) String() string {
	text := fmt.Sprintf("%d ok, %d invalid, %d failed", t.OK, t.Invalid, t.Failed)
	var of []string
	if t.Pilots > 0 {
		of = append(of, wording.Count(t.Pilots, "pilot trial, which counts in no cell", "pilot trials, which count in no cell"))
	}
	if t.Paces > 0 {
		of = append(of, wording.Count(t.Paces, "trial to find a rate, which counts in no cell", "trials to find a rate, which count in no cell"))
	}
	if t.Tails > 0 {
		of = append(of, wording.Count(t.Tails, "trial of the tail pass, which counts for percentiles beyond the 99th only", "trials of the tail pass, which count for percentiles beyond the 99th only"))
	}
	if t.Profiled > 0 {
		of = append(of, wording.Count(t.Profiled, "trial to sample stacks, which counts in no cell", "trials to sample stacks, which count in no cell"))
	}
	if t.Again > 0 {
		of = append(of, fmt.Sprintf("%d run once more because a trial of their set was ruled out", t.Again))
	}
	if len(of) > 0 {
		text += "; among them " + strings.Join(of, ", and ")
	}
	if t.Apart > 0 {
		text += "; beside them " + wording.Count(t.Apart, "of another experiment, which counts in no cell and is not shown", "of another experiment, which count in no cell and are not shown")
	}
	return text
}

// tabled are the trials of a workload without those that count in no cell by design, and with those
// ruled out whose set was run once more.
//
// There may be very many trials: only those of such sets are copied.
func tabled(trials []result.Trial, workload string) []*result.Trial {
	old := result.Superseded(trials)
	var out []*result.Trial
	for i := range trials {
		t := &trials[i]
		if t.Workload != workload || t.Aside() {
			continue
		}
		if t.Status == result.TrialOK && old(t) {
			again := *t
			again.Status, again.Reason = result.TrialInvalid, "run again, with all of its set"
			t = &again
		}
		out = append(out, t)
	}
	return out
}

// blocks is the number of blocks of the run.
func blocks(v View) int {
	n := 0
	for _, t := range v.Trials {
		if t.TailRate == 0 { // rounds after the blocks
			n = max(n, t.Block)
		}
	}
	for _, c := range v.Run.Cells {
		if c.Tail == nil {
			n = max(n, c.N)
		}
	}
	return n
}
