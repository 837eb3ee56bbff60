// Package stacks shows what a machine's CPUs execute: it samples the stacks of all CPUs, in
// kernel and programs, and maps each to a component that a network engineer knows.
//
// The rules are the table in rules.go; classify.go explains them. Samples are kept in the
// folded format of flame graphs (fold.go), from which they can be classified again.
package stacks

import (
	"errors"
	"time"

	"tare/internal/observe"
)

// Rate is the number of samples a second on each CPU. It is a prime, so that samples do not
// coincide with periodic work. At this rate sampling used less than 1 % of a busy CPU.
const Rate = 499

// ErrUnavailable reports that stacks cannot be sampled here, because a privilege or a
// kernel feature is missing. Errors that wrap it say why and how to fix it.
var ErrUnavailable = errors.New("stacks cannot be sampled here")

// Samples are what was sampled in the windows of one trial. The zero value has none.
type Samples struct {
	tally   tally
	elapsed time.Duration
}

// Profile is what was sampled, by function.
type Profile struct {
	Stacks  map[string]int // samples by folded stack, without those of idle CPUs
	Busy    int            // samples of busy CPUs: the sum of Stacks
	Idle    int
	Lost    int // dropped because a buffer was full
	CPUs    int
	Elapsed time.Duration // of all windows together
}

// Components counts the busy samples by component.
func (s Profile) Components() map[string]int {
	out, sorter := map[string]int{}, NewClassifier()
	for folded, n := range s.Stacks {
		out[sorter.Component(Unfold(folded))] += n
	}
	return out
}

// kind maps a process to a Kind. If the programs that carry a mode's traffic may be outside
// of the run, as with an existing engine, an unrelated process may be a proxy by its name.
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
	case isProxy(p.Name) && (outside || p.Relation == observe.Descendant):
		return Proxy
	case p.Relation == observe.Descendant && !isEngine(p.Name):
		return Proxy
	}
	return Other
}
