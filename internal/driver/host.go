package driver

import (
	"context"
	"slices"

	"tare/internal/result"
	"tare/internal/study"
)

// Host is a machine, real or virtual, that paths have endpoints on, and what can be
// asked of it.
type Host struct {
	Name string
	// Local says that its kernel is the one that this program runs on: its counters are
	// read here, below /proc. Those of any other host are read by an agent of the path
	// that runs there.
	Local bool
	// Programs are those that work for the run there without being started by it, such
	// as an engine's, by the name that the kernel keeps, of 15 letters. Nil: all
	// processes of the run are its own.
	Programs []string
}

// Target is where the hosts of a run come from: a lab that is made, engines that exist,
// or any other machines on which agents can be started.
type Target struct {
	// Hosts are the machines, as far as they are known before Begin.
	Hosts []Host
	// Drivers are what can be built on its hosts.
	Drivers Registry
	// Unavailable are the modes that other targets have and this one has not, and why.
	Unavailable map[string]string
	// Namespaces says that modes are built in network namespaces of this machine, which
	// takes root or a user namespace of the user's.
	Namespaces bool
	// DescribeChanges says what a run of a study makes on the hosts, one line a thing, and which
	// rights that takes.
	DescribeChanges func(study.Study) []string
	// Open makes sure that the hosts can be reached, before anything is made. May be
	// nil: there is nothing to reach.
	Open func(ctx context.Context) error
	// Begin prepares the hosts for a run. What it has made is gone after Close.
	Begin func(Run) (HostInfo, error)
	// Close releases the hosts. The paths must have been closed. It may be called without Begin.
	Close func() error
}

// Run is what a target is told of the run that it is to prepare for.
type Run struct {
	ID    string
	Study study.Study
}

// HostInfo is what a run knows of its hosts before any path is set up.
type HostInfo struct {
	Hosts []Host
	// CPUs are those that trials may be placed on, ascending; nil where nothing is
	// known of them.
	CPUs []int
	// Warnings are what a reader should know of the hosts.
	Warnings []result.Warning
	// Report is the hosts as a result lists them.
	Report []result.Host
}

// Local reports whether all hosts are this machine.
func (g HostInfo) Local() bool { return AllLocal(g.Hosts) }

// AllLocal reports whether all of the hosts are this machine.
func AllLocal(hosts []Host) bool {
	return !slices.ContainsFunc(hosts, func(h Host) bool { return !h.Local })
}

// Programs are those of all hosts that are this machine: see Host.
func (g HostInfo) Programs() []string {
	var out []string
	for _, h := range g.Hosts {
		if h.Local {
			out = append(out, h.Programs...)
		}
	}
	return out
}
