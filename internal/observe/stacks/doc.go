// Package stacks says what a machine's CPUs are at: it samples the stacks of all of
// them, kernel and program, and sorts each into a component that a network engineer
// has a name for.
//
// The rules are the table in rules.go, and what they mean is in classify.go. What is
// sampled is kept in the folded form that flame graphs are drawn from (fold.go), from
// which it can be sorted again.
package stacks

import (
	"errors"
	"time"

	"tare/internal/observe"
)

// Rate is how many samples a second are taken of each CPU. It is a prime, so that
// samples keep no step with what happens by the tick. At this rate sampling took
// less of a busy CPU than could be seen: under 1 %.
const Rate = 499

// ErrUnavailable says that stacks cannot be sampled here, for want of a right or of
// the means. What wraps it tells why and what would help.
var ErrUnavailable = errors.New("stacks cannot be sampled here")

// Profile is what was sampled between a Start and a Stop.
type Profile struct {
	Stacks  map[string]int // samples by folded stack, those of idle CPUs left out
	Busy    int            // samples of CPUs at work: the sum of Stacks
	Idle    int
	Lost    int // that found no room in the kernel's buffer or in here
	CPUs    int
	Elapsed time.Duration
}

// Components counts the busy samples by component.
func (s Profile) Components() map[string]int {
	out, sorter := map[string]int{}, NewClassifier()
	for folded, n := range s.Stacks {
		out[sorter.Component(Unfold(folded))] += n
	}
	return out
}

// kind is what a process is to a component. Where what carries a mode's traffic may be
// outside of the run, as with an engine that exists, a stranger may be a proxy by name.
func kind(p observe.Program, known, outside bool) Kind {
	switch {
	case !known:
		return Other
	case p.Relation == observe.KernelThread:
		return Kernel
	case p.Relation == observe.Self:
		return Observer
	case p.Relation == observe.Agent:
		return Generator
	case proxy(p.Name) && (outside || p.Relation == observe.Descendant):
		return Proxy
	case p.Relation == observe.Descendant && !engine(p.Name):
		return Proxy
	}
	return Other
}
