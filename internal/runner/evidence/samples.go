package evidence

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"tare/internal/observe/stacks"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// StackSampler samples the stacks of all CPUs; see [stacks.Sampler].
type StackSampler interface {
	Start(into *stacks.Samples) error
	Pause() error
	Identify() error
	Profile(of *stacks.Samples) (stacks.Profile, error)
	Close() error
}

// Sampling samples the stacks of the trials of a group. A nil Sampling does nothing.
type Sampling struct {
	observer *Observer
	sampler  StackSampler
	group    []*Trial
	taken    map[*Trial]*samples
}

// samples is what was sampled for a trial.
type samples struct {
	stacks.Samples
	err error
}

// wantsStacks reports whether stacks are sampled in a trial: in trials of the cost pass
// and in trials that only sample. Sampling uses CPU time, which would reduce goodput.
func (o *Observer) wantsStacks(t plan.Trial) bool {
	return o.cfg.Asked.Stacks != study.Off && o.cfg.Asked.Stacks != "" && (t.InCostPass() || t.Profiled)
}

// Sampling prepares to sample the stacks of the trials of a group that are alike. It returns
// nil if that is not required or not possible; the reason is reported once. Its Record must be
// called.
func (o *Observer) Sampling(group []*Trial) *Sampling {
	if !o.wantsStacks(group[0].Planned) || o.noStacks != "" || !slices.ContainsFunc(group, func(t *Trial) bool { return !t.Failed() }) {
		return nil
	}
	s := o.openStacks()
	if s == nil {
		return nil
	}
	taken := map[*Trial]*samples{}
	for _, t := range group {
		taken[t] = &samples{}
	}
	return &Sampling{observer: o, sampler: s, group: group, taken: taken}
}

// openStacks opens the sampler. It returns nil if stacks cannot be sampled, and reports
// the reason once.
func (o *Observer) openStacks() StackSampler {
	err := errors.New("the endpoints run on other machines, whose stacks cannot be sampled from here")
	if o.local() {
		var s StackSampler
		if s, err = o.cfg.OpenStacks(); err == nil {
			return s
		}
	}
	o.noStacks = err.Error()
	o.cfg.Warn(warning.StacksUnavailable, "run", "no breakdown of the CPU cost: %s", o.noStacks)
	return nil
}

// Window calls do, the timed window of a trial after a warm-up in one piece, and samples from
// the expected end of the warm-up until the end of the window or until do returns.
func (s *Sampling) Window(t *Trial, do func()) {
	if s == nil {
		do()
		return
	}
	ended, sampled := make(chan struct{}), make(chan struct{})
	taken := s.taken[t]
	go func() {
		defer close(sampled)
		w := t.Planned.Workload
		taken.err = s.sample(taken, w.Warmup.Std(), w.Duration.Std(), ended)
	}()
	do()
	close(ended)
	<-sampled
}

func (s *Sampling) sample(taken *samples, from, window time.Duration, ended <-chan struct{}) error {
	select {
	case <-time.After(from):
	case <-ended:
		return nil
	}
	if err := s.sampler.Start(&taken.Samples); err != nil {
		return err
	}
	select {
	case <-time.After(window):
	case <-ended:
	}
	return s.sampler.Pause()
}

// Slice calls do, a slice of a trial, and samples all of it: the CPU cost is that of all of it,
// too.
func (s *Sampling) Slice(t *Trial, do func()) {
	if s == nil {
		do()
		return
	}
	taken := s.taken[t]
	err := s.sampler.Start(&taken.Samples)
	do()
	if err == nil {
		err = s.sampler.Pause()
	}
	if taken.err == nil {
		taken.err = err
	}
}

// Record resolves the symbols of the samples, and records them with their trials and in the
// run's directory. Nothing can be sampled afterwards.
func (s *Sampling) Record() {
	if s == nil {
		return
	}
	defer s.sampler.Close()
	err := s.sampler.Identify()
	for _, t := range s.group {
		taken := s.taken[t]
		if err := errors.Join(err, taken.err, s.record(t, &taken.Samples)); err != nil {
			s.observer.cfg.Warn(warning.StacksUnavailable, t.Planned.Mode+" "+t.Planned.Workload.ID, "no breakdown of the CPU cost of a trial: %v", err)
		}
	}
}

func (s *Sampling) record(t *Trial, taken *stacks.Samples) error {
	if t.Failed() {
		return nil
	}
	found, err := s.sampler.Profile(taken)
	if err != nil || found.Elapsed <= 0 {
		return err
	}
	t.Record.Stacks = &result.Stacks{
		Rate: stacks.Rate, Seconds: found.Elapsed.Seconds(), CPUs: found.CPUs, Busy: found.Busy, Idle: found.Idle, Lost: found.Lost, Components: found.Components(),
	}
	var folded bytes.Buffer
	if err = stacks.Write(&folded, found.Stacks); err == nil {
		err = s.observer.cfg.AppendFile(result.StacksFile(t.Planned.Mode, t.Planned.Workload.ID), folded.Bytes())
	}
	if err != nil {
		s.observer.cfg.Warn(warning.StacksUnavailable, t.Planned.Mode+" "+t.Planned.Workload.ID, "cannot write the folded stacks: %v", err)
	}
	return nil
}

// CanSample reports whether stacks can be sampled; the reason why not is reported once.
func (o *Observer) CanSample() (bool, error) {
	s := o.openStacks()
	if s == nil {
		return false, nil
	}
	return true, s.Close()
}
