package runner

import (
	"slices"
	"strings"

	"tare/internal/runid"
	"tare/internal/study"
	"tare/internal/warning"
)

// circumstances warns of what is known before the first trial.
func (r *run) circumstances() {
	if r.cfg.Study.Pilot.Std() == 0 && r.cfg.Study.Profile != study.Paper {
		r.warn(warning.WarmupNotVerified, "run", "without pilot trials a fixed warm-up is dropped, and nothing shows that each mode had settled by then")
	}
	ids, err := runid.Running()
	if err != nil {
		r.warn(warning.NotObserved, "run", "whether other runs are under way is unknown: %v", err)
	}
	if others := slices.DeleteFunc(ids, func(id string) bool { return id == r.out.ID }); len(others) > 0 {
		r.warn(warning.OtherRun, "run", "another run (%s) is under way on this machine: the two disturb each other", others[0])
	}
	r.left()
	for _, w := range r.schedule.Plan.Workloads {
		switch {
		case w.ID == study.CostPassID: // as what it is made of
		case len(r.cfg.Ground.CPUs) == 0 && w.Placement != "" && w.Placement != study.Free:
			r.warn(warning.PlacementFree, w.ID, "placement %s was asked for, but nothing is known here of the CPUs of the engines' machines: each end runs where their schedulers put it", w.Placement)
		case w.Placement == study.TwoCores && len(r.cfg.Ground.CPUs) < 2:
			r.warn(warning.OneCPU, w.ID, "placement two_cores was asked for, but there is one CPU to use: both ends share it")
		}
	}
}

// left warns of what the study asks for and the run leaves out.
func (r *run) left() {
	if r.cfg.Study.Limits == (study.Limits{}) {
		return
	}
	var free []string
	for _, m := range r.cfg.Study.Modes {
		_, spec, err := r.cfg.Drivers.For(m.Mode)
		switch limits := r.cfg.Study.Limits; {
		case err != nil: // it is not built
		case spec.Limits == (study.Ends{}):
			free = append(free, m.Name())
		case !spec.Limits.Client && limits.Client != (study.Limit{}):
			free = append(free, "the client of "+m.Name())
		case !spec.Limits.Server && limits.Server != (study.Limit{}):
			free = append(free, "the server of "+m.Name())
		}
	}
	if len(free) > 0 {
		r.warn(warning.LimitsSkipped, "run", "the study's limits do not hold for %s: an engine applies limits, and none makes their sandboxes. "+
			"What is limited pays for that, too, beside what is not", strings.Join(free, ", "))
	}
}
