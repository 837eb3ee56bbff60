// Package target holds the two lists that a run is made of: where the hosts of a run
// can come from, and which drivers build modes on the hosts of a lab. Whoever adds a
// target or a driver adds a line here; the command line, the documentation's tests and
// the drawings go by these lists.
package target

import (
	"fmt"
	"slices"

	"tare/internal/driver"
	"tare/internal/study"
)

// Kind is one way to come by hosts.
type Kind struct {
	Name string // for people: lab, engines
	// Matches reports whether a name in a study, or behind --engine, means such a target.
	Matches func(name string) bool
	// WellFormed checks such a name. Nil where the rule of a study's engine key does.
	WellFormed func(name string) bool
	// Study is the built-in study that a run of these hosts has by default.
	Study func(study.Target) string
	// New is the target of that name or those hosts. Nothing is done before Open.
	New func(t study.Target, o Options) driver.Target
}

// Options are what the command line says of any target.
type Options struct {
	// AllowSwarm allows a Swarm to be made on engines that exist, and left again.
	AllowSwarm bool
}

// Kinds lists the kinds there are. The first is what a study without a target means.
func Kinds() []Kind { return []Kind{labKind(), enginesKind()} }

// FindKind finds the kind of a target: the one that all of its names belong to. The error says
// which name belongs to none.
func FindKind(kinds []Kind, t study.Target) (Kind, error) {
	names := t.Names()
	for _, k := range kinds {
		if !slices.ContainsFunc(names, func(name string) bool { return !k.Matches(name) }) {
			return k, nil
		}
	}
	return Kind{}, fmt.Errorf("target %s: its hosts are of no one kind that is known here", t)
}
