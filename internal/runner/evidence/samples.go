package evidence

import (
	"bytes"
	"errors"
	"time"

	"tare/internal/observe/stacks"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// Sampling is the stacks of one trial as they are sampled. Nil samples nothing.
type Sampling struct {
	sampler *stacks.Sampler
	from    time.Duration // after the trial began: its warm-up
	window  time.Duration
	long    time.Duration // sampled in the end
	err     error
}

// wantsStacks is whether stacks are sampled in a trial: in those of the cost
// pass, and in those that are only there for it. Sampling takes some of a CPU, which
// goodput is not to pay for.
func (o *Observer) wantsStacks(t plan.Trial) bool {
	return o.cfg.Asked.Stacks != study.Off && o.cfg.Asked.Stacks != "" && (t.InCostPass() || t.Profiled)
}

// Sampling gets ready to sample the stacks of a trial. Nil where that is not
// wanted or cannot be; why not is told once.
func (o *Observer) Sampling(t *Trial) *Sampling {
	if t.Failed() || !o.wantsStacks(t.Planned) || o.noStacks != "" {
		return nil
	}
	s := o.openStacks()
	if s == nil {
		return nil
	}
	return &Sampling{sampler: s, from: t.Planned.Workload.Warmup.Std(), window: t.Planned.Workload.Duration.Std()}
}

// openStacks is nil where stacks cannot be sampled, and tells why once.
func (o *Observer) openStacks() *stacks.Sampler {
	err := errors.New("the ends run on machines whose stacks cannot be sampled from here")
	if o.local() {
		var s *stacks.Sampler
		if s, err = stacks.Open("/proc", o.own()); err == nil {
			return s
		}
	}
	o.noStacks = err.Error()
	o.cfg.Warn(warning.StacksUnavailable, "run", "no breakdown of the CPU cost: %s", o.noStacks)
	return nil
}

// SampleDuring samples during the timed window of a trial that do drives: from when its warm-up
// should be over until its window is or do returns.
func (s *Sampling) SampleDuring(do func()) {
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

func (s *Sampling) sample(ended <-chan struct{}) error {
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

// RecordSamples puts names to what was sampled, and records it with the trial and in the run's
// directory.
func (o *Observer) RecordSamples(t *Trial, s *Sampling) {
	if s == nil {
		return
	}
	found, err := s.sampler.Stop(s.long)
	if err = errors.Join(s.err, err, s.sampler.Close()); err != nil {
		o.cfg.Warn(warning.StacksUnavailable, t.Planned.Mode+" "+t.Planned.Workload.ID, "no breakdown of the CPU cost of a trial: %v", err)
		return
	}
	if t.Failed() || s.long <= 0 {
		return
	}
	t.Record.Stacks = &result.Stacks{
		Rate: stacks.Rate, Seconds: s.long.Seconds(), CPUs: found.CPUs, Busy: found.Busy, Idle: found.Idle, Lost: found.Lost, Components: found.Components(),
	}
	var folded bytes.Buffer
	err = stacks.Write(&folded, found.Stacks)
	if err == nil {
		err = o.cfg.AppendFile(result.StacksFile(t.Planned.Mode, t.Planned.Workload.ID), folded.Bytes())
	}
	if err != nil {
		o.cfg.Warn(warning.StacksUnavailable, t.Planned.Mode+" "+t.Planned.Workload.ID, "cannot write the folded stacks: %v", err)
	}
}

// CanSample is whether stacks can be sampled at all; why not is told once.
func (o *Observer) CanSample() (bool, error) {
	s := o.openStacks()
	if s == nil {
		return false, nil
	}
	return true, s.Close()
}
