package runner

import (
	"fmt"
	"slices"

	"tare/internal/analysis/identity"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/warning"
)

// record writes a trial with what decided it and the build that measured it.
func (r *run) record(t result.Trial) error {
	t.Experiment, t.Tare = r.settings.Experiment(t.Mode, t.Workload), r.cfg.Build.String()
	if s := r.underTest(t.Mode); s != nil {
		t.FactsHash = result.FactsHash(s.facts)
	}
	was := r.cfg.Dir.Path()
	if err := r.cfg.Dir.Append(t); err != nil {
		return err
	}
	if is := r.cfg.Dir.Path(); is != was {
		r.tell(live.Moved{Dir: is})
	}
	r.last = t.Seq
	r.schedule.Record(t)
	r.tell(live.TrialEnded{Trial: t})
	return nil
}

// recordSession writes what is known of the run so far, and what decides its trials.
func (r *run) recordSession() error { return r.cfg.Dir.WriteSession(r.session()) }

// session is what is known of the run so far, and what decides its trials.
func (r *run) session() result.Session {
	known := r.out
	known.Status, known.Modes = result.RunInterrupted, r.modes()
	return result.Session{Run: known, Settings: r.settings, Forced: r.out.Apart != nil}
}

// OtherExperimentError means that the run that is resumed has trials of modes that were other ones, such as of
// an engine of another version. The run's directory is as before.
type OtherExperimentError struct {
	Apart   result.Apart // those trials, and all others that count in no cell
	Cleanup error        // of taking down what was set up, and of restoring the directory; nil if it succeeded
}

// Error says how many trials are of another experiment.
func (e *OtherExperimentError) Error() string {
	return fmt.Sprintf("%d trials are of another experiment", e.Apart.Trials.Total())
}

// factsHashes are the hashes of the facts of each mode in some trials.
func factsHashes(trials []result.Trial) map[string][]string {
	out := map[string][]string{}
	for _, t := range trials {
		if t.FactsHash != "" && !slices.Contains(out[t.Mode], t.FactsHash) {
			out[t.Mode] = append(out[t.Mode], t.FactsHash)
		}
	}
	return out
}

// compareFacts compares the modes that were set up with what they were in the trials of the run that is resumed. Trials of
// modes that were other ones are set apart if that is wanted, and are an OtherExperimentError otherwise.
func (r *run) compareFacts() error {
	same := true
	for _, s := range r.tested {
		now := result.FactsHash(s.facts)
		same = same && (now == "" || !slices.ContainsFunc(r.factsBefore[s.mode.ID], func(before string) bool { return before != now }))
	}
	if same {
		return nil
	}
	resumed, err := r.cfg.Dir.Resume(r.session())
	switch {
	case err != nil:
		return err
	case resumed.Apart == nil:
		return nil
	case !r.cfg.Force:
		return &OtherExperimentError{Apart: *resumed.Apart}
	}
	r.cfg.Resumed = resumed
	r.out.Warnings = slices.DeleteFunc(r.out.Warnings, func(w result.Warning) bool { return w.Code == string(warning.OtherExperiment) })
	r.resume()
	r.schedule.Resume(resumed.Trials)
	r.cfg.Resumed.Trials = nil
	for _, w := range resumed.Warnings {
		r.give(w)
	}
	r.announce()
	return r.recordSession() // before the first trial, by whose hash it is found
}

// warnResumed emits the warnings about the sessions that this one resumes.
func (r *run) warnResumed() {
	for _, w := range r.cfg.Resumed.Warnings {
		r.give(w)
	}
	if changed := identity.Differences(result.Run{Hosts: r.cfg.Resumed.Hosts}, r.out); len(changed) > 0 {
		r.warn(warning.MachineChanged, "run", "the run was resumed on another machine, and ratios differ between machines: %s. Its results are of blocks of both; start a new run.",
			identity.Text(changed))
	}
}
