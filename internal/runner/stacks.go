package runner

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"

	"tare/internal/observe"
	"tare/internal/observe/stacks"
	"tare/internal/plan"
	"tare/internal/report/say"
	"tare/internal/result"
	"tare/internal/study"
)

// sampling is the stacks of one trial as they are sampled. Nil samples nothing.
type sampling struct {
	sampler *stacks.Sampler
	from    time.Duration // after the trial began: its warm-up
	window  time.Duration
	long    time.Duration // sampled in the end
	err     error
}

// wantsStacks is whether stacks are sampled in a lane's trial: in those of the cost
// pass, and in those that are only there for it. Sampling takes some of a CPU, which
// goodput is not to pay for.
func (r *run) wantsStacks(l *lane) bool {
	return r.cfg.Study.Evidence.Stacks != study.Off && r.cfg.Study.Evidence.Stacks != "" && (l.Costing() || l.Profiled)
}

// sampler gets ready to sample the stacks of a lane's trial. Nil where that is not
// wanted or cannot be; why not is told once.
func (r *run) sampler(l *lane) *sampling {
	if l.err != nil || !r.wantsStacks(l) || r.noStacks != "" {
		return nil
	}
	s := r.openStacks()
	if s == nil {
		return nil
	}
	return &sampling{sampler: s, from: l.Workload.Warmup.Std(), window: l.Workload.Duration.Std()}
}

// openStacks is nil where stacks cannot be sampled, and tells why once.
func (r *run) openStacks() *stacks.Sampler {
	err := errors.New("the ends run on machines whose stacks cannot be sampled from here")
	if r.cfg.Ground.Local() {
		var s *stacks.Sampler
		if s, err = stacks.Open("/proc", ownOf(r.cfg, os.Getpid())); err == nil {
			return s
		}
	}
	r.noStacks = err.Error()
	r.warn("stacks_unavailable", "run", "what the CPU time went to is not split into components: %s", r.noStacks)
	return nil
}

// while samples during the timed window of a trial that do drives: from when its warm-up
// should be over until its window is or do returns.
func (s *sampling) while(do func()) {
	if s == nil {
		do()
		return
	}
	ended, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		s.err = s.sample(ended)
	}()
	do()
	close(ended)
	<-sampled
}

func (s *sampling) sample(ended <-chan struct{}) error {
	select {
	case <-time.After(s.from):
	case <-ended:
		return nil
	}
	if err := s.sampler.Start(); err != nil {
		return err
	}
	select {
	case <-time.After(s.window):
	case <-ended:
	}
	var err error
	s.long, err = s.sampler.Pause()
	return err
}

// keep puts names to what was sampled, and records it with the trial and in the run's
// directory.
func (r *run) keep(l *lane, s *sampling) {
	if s == nil {
		return
	}
	found, err := s.sampler.Stop(s.long)
	if err = errors.Join(s.err, err, s.sampler.Close()); err != nil {
		r.warn("stacks_unavailable", l.Mode+" "+l.Workload.ID, "what the CPU time of a trial went to is unknown: %v", err)
		return
	}
	if l.err != nil || s.long <= 0 {
		return
	}
	l.out.Stacks = &result.Stacks{
		Rate: stacks.Rate, Seconds: s.long.Seconds(), CPUs: found.CPUs, Busy: found.Busy, Idle: found.Idle, Lost: found.Lost, Components: found.Components(),
	}
	var folded bytes.Buffer
	err = stacks.Write(&folded, found.Stacks)
	if err == nil {
		err = r.cfg.Dir.AppendFile(result.StacksFile(l.Mode, l.Workload.ID), folded.Bytes())
	}
	if err != nil {
		r.warn("stacks_unavailable", l.Mode+" "+l.Workload.ID, "the folded stacks were not kept: %v", err)
	}
}

// profiles runs the trials that are only there to sample stacks, after all that count.
func (r *run) profiles(ctx context.Context) error {
	todo := r.unprofiled()
	if len(todo) == 0 {
		return nil
	}
	// Where stacks cannot be sampled, the trials would be for nothing.
	s := r.openStacks()
	if s == nil {
		return nil
	}
	if err := s.Close(); err != nil {
		return err
	}
	r.todo = append(r.todo[:r.done:r.done], todo...)
	for i, t := range todo {
		one := []plan.Trial{t}
		if limit := r.limit(); limit > 0 && time.Since(r.began)+r.takes(one) > limit {
			r.warn("max_time", "run", "%d of %d trials to sample stacks were left out: they would have ended after the time limit of %s", len(todo)-i, len(todo), say.Duration(limit))
			return nil
		}
		if err := r.together(ctx, one); err != nil {
			return err
		}
		r.done++
	}
	return nil
}

// unprofiled are those of such trials that a resumed run has not run yet, as long as
// those that counted were.
func (r *run) unprofiled() []plan.Trial {
	var out []plan.Trial
	block := max(1, r.finished())
	for _, t := range r.measurable(plan.Profiles(r.cfg.Study)) {
		t.Block = block
		done := false
		for _, d := range r.trials {
			if d.Mode != t.Mode || d.Workload != t.Workload.ID {
				continue
			}
			done = done || d.Profiled && d.Status == result.TrialOK
			if !d.Aside() && d.Window > 0 {
				t.Workload = timed(t.Workload, duration(d.Warmup), duration(d.Window))
			}
		}
		if !done {
			out = append(out, t)
		}
	}
	return out
}

// ownOf says what is the run's own among the processes of this machine.
func ownOf(cfg Config, pid int) observe.Own {
	return observe.Own{PID: pid, Run: cfg.RunID, Programs: cfg.Ground.Programs()}
}
