package runner

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/result"
	"tare/internal/runid"
	"tare/internal/study"
	"tare/internal/traffic"
)

// circumstances warns of what is known before the first trial.
func (r *run) circumstances() {
	if r.cfg.Study.Pilot.Std() == 0 && r.cfg.Study.Profile != study.Paper {
		r.warn("warmup_not_verified", "run", "without pilot trials a fixed warm-up is dropped, and nothing shows that each mode had settled by then")
	}
	ids, err := runid.Running()
	if err != nil {
		r.warn("not_observed", "run", "whether other runs are under way is unknown: %v", err)
	}
	if others := slices.DeleteFunc(ids, func(id string) bool { return id == r.out.ID }); len(others) > 0 {
		r.warn("other_run", "run", "another run (%s) is under way on this machine: the two disturb each other", others[0])
	}
	r.left()
	for _, w := range r.plan.Workloads {
		switch {
		case w.ID == study.CostPassID: // as what it is made of
		case len(r.cfg.Ground.CPUs) == 0 && w.Placement != "" && w.Placement != study.Free:
			r.warn("placement_free", w.ID, "placement %s was asked for, but nothing is known here of the CPUs of the engines' machines: each end runs where their schedulers put it", w.Placement)
		case w.Placement == study.TwoCores && len(r.cfg.Ground.CPUs) < 2:
			r.warn("one_cpu", w.ID, "placement two_cores was asked for, but there is one CPU to use: both ends share it")
		}
	}
}

// left warns of what the study asks for and the run leaves out.
func (r *run) left() {
	for _, w := range r.cfg.Study.Workloads {
		if why, planned := traffic.IsPlanned(w.Kind); planned {
			r.warn("workload_unsupported", w.Name(), "left out of the trials, not built yet: %s", why)
		}
	}
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
		r.warn("limits_skipped", "run", "the study's limits do not hold for %s: an engine applies limits, and none makes their sandboxes. "+
			"What is limited pays for that, too, beside what is not", strings.Join(free, ", "))
	}
}

// compareEnds warns where modes differed from their baseline in what should have
// been alike, and where a buffer was not granted.
func (r *run) compareEnds(asked study.Workload) {
	first := map[string]result.Trial{}
	for _, t := range r.trials {
		if _, seen := first[t.Mode]; !seen && t.Workload == asked.ID && t.Status == result.TrialOK && t.Client != nil && t.Server != nil {
			first[t.Mode] = t
		}
	}
	for _, m := range r.out.Modes {
		t, ok := first[m.ID]
		if !ok {
			continue
		}
		if b, ok := first[m.Baseline]; ok && asked.WriteSize > 0 && b.Client.MSS != t.Client.MSS {
			which := "part of the cost is the smaller MTU, as it is in use"
			if t.Client.MSS > b.Client.MSS {
				which = "the larger MTU, as it is in use, hides part of the cost"
			}
			r.warn("mss_differs", m.ID+" "+asked.ID, "segments carry %d bytes here and %d in %s: %s", t.Client.MSS, b.Client.MSS, m.Baseline, which)
		}
		if cc := t.Client.Congestion; asked.Congestion != "" && cc != "" && cc != asked.Congestion {
			r.warn("congestion_control", m.ID, "congestion control was %s, not %s", cc, asked.Congestion)
		} else if b, ok := first[m.Baseline]; ok && asked.Congestion == "" && cc != "" && b.Client.Congestion != "" && b.Client.Congestion != cc {
			r.warn("congestion_differs", m.ID+" "+asked.ID, "congestion control was %s here and %s in %s, and the study leaves it to each stack: part of the difference "+
				"is the algorithm; congestion_control in the study mends it", cc, b.Client.Congestion, m.Baseline)
		}
		if b, ok := first[m.Baseline]; ok {
			r.buffersDiffer(m, asked, t, b)
		}
		r.clamped(asked.ID, "send", int(asked.SendBuffer.Bytes), t.Client.SendBuffer)
		r.clamped(asked.ID, "receive", int(asked.ReceiveBuffer.Bytes), t.Server.ReceiveBuffer)
	}
}

// buffersDiffer warns of socket buffers of a fixed size that were granted otherwise
// than to the baseline, whose stack may have another limit. Those that the kernel
// sizes by itself differ from trial to trial.
func (r *run) buffersDiffer(m result.Mode, asked study.Workload, t, b result.Trial) {
	for _, end := range []struct {
		which     string
		fixed     bool
		got, base int
	}{
		{"send", asked.SendBuffer.Bytes > 0, t.Client.SendBuffer, b.Client.SendBuffer},
		{"receive", asked.ReceiveBuffer.Bytes > 0, t.Server.ReceiveBuffer, b.Server.ReceiveBuffer},
	} {
		if end.fixed && end.got > 0 && end.base > 0 && end.got != end.base {
			r.warn("buffers_differ", m.ID+" "+asked.ID, "the %s buffer granted was %d bytes here and %d in %s: part of the difference is the buffer; "+
				"a smaller %s_buffer in the study, or the same limits in both stacks, mend it", end.which, end.got, end.base, m.Baseline, end.which)
		}
	}
}

// clamped warns of a socket buffer below what was asked for. The kernel reports
// twice what it was asked to grant, to make room for its own bookkeeping
// (socket(7)). A granted 0 is unknown, as of an external tool.
func (r *run) clamped(workload, which string, asked, granted int) {
	if asked < 0 || granted == 0 || granted >= 2*asked {
		return
	}
	r.warn("buffer_clamped", workload, "%s", fmt.Sprintf("a %s buffer of %d bytes was asked for and %d granted: raise net.core.%s to change that",
		which, asked, granted/2, map[string]string{"send": "wmem_max", "receive": "rmem_max"}[which]))
}
