// Package hosts lists the sources of a run's hosts and the drivers that build modes in a
// lab. A new target or driver requires an entry here; the command line, the documentation's
// tests and the topology drawings use these lists.
package hosts

import (
	"fmt"
	"slices"

	"tare/internal/driver"
	"tare/internal/study"
)

// Kind is one source of hosts.
type Kind struct {
	Name string // for messages: lab, engines, machines, kube
	// Machines means that a study's hosts of this kind are machines, not engines.
	Machines bool
	// Matches reports whether a name in a study, or after --engine, refers to such a
	// target.
	Matches func(name string) bool
	// WellFormed checks such a name. Nil means that the rule for a study's engine key is
	// sufficient.
	WellFormed func(name string) bool
	// Study is the default built-in study for these hosts.
	Study func(study.Target) string
	// InPlace returns the built-in study that these hosts have in place of another one, whose
	// modes they do not have; else the same name. It may be nil.
	InPlace func(t study.Target, name string) string
	// New returns the target for that name or those hosts. It does nothing before Open.
	New func(t study.Target, o Options) driver.Target
}

// Options are command line options that apply to any target.
type Options struct {
	// AllowSwarm allows creating a Swarm on existing engines and removing it again.
	AllowSwarm bool
	// Modes are the modes named on the command line, whose files the user has chosen.
	Modes []string
}

// Kinds lists all kinds. The first one is used for a study without a target.
func Kinds() []Kind { return []Kind{labKind(), enginesKind(), machinesKind(), kubeKind()} }

// FindKind returns the kind to which all names of a target belong. It fails if there is
// none.
func FindKind(kinds []Kind, t study.Target) (Kind, error) {
	names := t.Names()
	for _, k := range kinds {
		if k.Machines == t.Machines() && !slices.ContainsFunc(names, func(name string) bool { return !k.Matches(name) }) {
			return k, nil
		}
	}
	return Kind{}, fmt.Errorf("target %s: its hosts are not all of one known kind", t)
}
