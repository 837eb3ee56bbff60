package runner

import (
	"tare/internal/analysis/identity"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/warning"
)

// record writes a trial with what decided it and the build that measured it.
func (r *run) record(t result.Trial) error {
	t.Experiment, t.Tare = r.settings.Experiment(t.Mode, t.Workload), r.cfg.Build.String()
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
	return result.Session{Run: known, Settings: r.settings, Forced: r.cfg.Force}
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
