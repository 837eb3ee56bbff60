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

// Sampling samples the stacks of one trial. A nil Sampling does nothing.
type Sampling struct {
	sampler *stacks.Sampler
	from    time.Duration // after the start of the trial: its warm-up
	window  time.Duration
	sampled time.Duration // actual sampling time
	err     error
}

// wantsStacks reports whether stacks are sampled in a trial: in trials of the cost pass
// and in trials that only sample. Sampling uses CPU time, which would reduce goodput.
func (o *Observer) wantsStacks(t plan.Trial) bool {
	return o.cfg.Asked.Stacks != study.Off && o.cfg.Asked.Stacks != "" && (t.InCostPass() || t.Profiled)
}

// Sampling prepares to sample the stacks of a trial. It returns nil if that is not
// required or not possible; the reason is reported once.
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

// openStacks opens the sampler. It returns nil if stacks cannot be sampled, and reports
// the reason once.
func (o *Observer) openStacks() *stacks.Sampler {
	err := errors.New("the endpoints run on other machines, whose stacks cannot be sampled from here")
	if o.local() {
		var s *stacks.Sampler
		if s, err = stacks.Open("/proc", o.ownProcesses()); err == nil {
			return s
		}
	}
	o.noStacks = err.Error()
	o.cfg.Warn(warning.StacksUnavailable, "run", "no breakdown of the CPU cost: %s", o.noStacks)
	return nil
}

// SampleDuring calls do and samples during the timed window of the trial: from the
// expected end of the warm-up until the end of the window or until do returns.
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
	s.sampled, err = s.sampler.Pause()
	return err
}

// RecordSamples resolves the symbols of the samples, and records them with the trial and
// in the run's directory.
func (o *Observer) RecordSamples(t *Trial, s *Sampling) {
	if s == nil {
		return
	}
	found, err := s.sampler.Stop(s.sampled)
	if err = errors.Join(s.err, err, s.sampler.Close()); err != nil {
		o.cfg.Warn(warning.StacksUnavailable, t.Planned.Mode+" "+t.Planned.Workload.ID, "no breakdown of the CPU cost of a trial: %v", err)
		return
	}
	if t.Failed() || s.sampled <= 0 {
		return
	}
	t.Record.Stacks = &result.Stacks{
		Rate: stacks.Rate, Seconds: s.sampled.Seconds(), CPUs: found.CPUs, Busy: found.Busy, Idle: found.Idle, Lost: found.Lost, Components: found.Components(),
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

// CanSample reports whether stacks can be sampled; the reason why not is reported once.
func (o *Observer) CanSample() (bool, error) {
	s := o.openStacks()
	if s == nil {
		return false, nil
	}
	return true, s.Close()
}
