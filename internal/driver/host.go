package driver

import (
	"context"
	"slices"

	"tare/internal/facts"
	"tare/internal/result"
	"tare/internal/study"
)

// Host is a real or virtual machine on which paths have endpoints.
type Host struct {
	Name string
	// Local means that the host's kernel is the one this program runs on: its counters are
	// read from /proc here. Counters of other hosts are read by an agent of the path on
	// that host.
	Local bool
	// Guest means that the host is a virtual machine on this machine, for instance that of
	// Docker Desktop: its CPU time is a part of this machine's.
	Guest bool
	// Programs are the programs on the host that work for the run without being started by
	// it, such as those of an engine, by their kernel names (up to 15 characters). Nil
	// means that all processes of the run are its own.
	Programs []string
}

// Target provides the hosts of a run: a lab, existing engines, or other machines on which
// agents can be started.
type Target struct {
	// Hosts are the machines, as far as they are known before Begin.
	Hosts []Host
	// Drivers are the drivers that can build modes on these hosts.
	Drivers Registry
	// Unavailable maps modes that only other targets have to the reason why this one does
	// not.
	Unavailable map[string]string
	// Namespaces means that modes are built in network namespaces of this machine, which
	// requires root or an unprivileged user namespace.
	Namespaces bool
	// Shared says that the hosts serve others, too, as the nodes of a cluster do: a run does not
	// load them as much as it can unless it is told to.
	Shared bool
	// Restricted says that an endpoint may lack CAP_NET_ADMIN, as that of an ordinary user does: it sets only the
	// congestion controls that its machine allows to everybody.
	Restricted bool
	// DescribeChanges returns what a run of a study creates on the hosts and which
	// privileges that requires, one line each.
	DescribeChanges func(study.Study) []string
	// Open checks that the hosts are reachable, before anything is created. It may be nil.
	Open func(ctx context.Context) error
	// Check reports what modes of a study require and the hosts lack, after Open and without a change to them: an
	// AskedError if the study asks for what no host can have by that name. It may be nil.
	Check func(ctx context.Context, s study.Study) error
	// Diagnose is Open for tare doctor: it shows what it finds out about the hosts and what is
	// between them, group by group. If it fails, no mode can be built. It may be nil.
	Diagnose func(ctx context.Context, show func(facts.Group)) ([]result.Warning, error)
	// Begin prepares the hosts for a run. Close removes what it created.
	Begin func(Run) (HostInfo, error)
	// Close releases the hosts. All paths must be closed before. It may be called without
	// Begin.
	Close func() error
}

// AskedError is an error of what was asked for, such as a network of another name, rather than of the hosts.
type AskedError struct{ Err error }

func (e *AskedError) Error() string { return e.Err.Error() }
func (e *AskedError) Unwrap() error { return e.Err }

// Run describes the run that a target prepares for.
type Run struct {
	ID    string
	Study study.Study
}

// HostInfo is what a run knows of its hosts before any path is set up.
type HostInfo struct {
	Hosts []Host
	// CPUs are the CPUs on which trials may be placed, ascending; nil if unknown, or if the
	// hosts are several machines. HostCPUs are those of each host by its name then.
	CPUs     []int
	HostCPUs map[string][]int
	// HeldBy is the id of a run by which the target holds what it created before the run, empty
	// if there is none. It is no other run.
	HeldBy string
	// Warnings are warnings about the hosts.
	Warnings []result.Warning
	// Report lists the hosts for the result.
	Report []result.Host
	// Describe is called once, when the paths of the run are set up and have no traffic, for what
	// can only be read then. It returns the hosts in place of Report, and warnings. It may be nil.
	Describe func(ctx context.Context) ([]result.Host, []result.Warning)
}

// Apart reports whether the hosts are several machines, all with known CPUs.
func (g HostInfo) Apart() bool {
	return len(g.CPUs) == 0 && len(g.HostCPUs) > 0 && !slices.ContainsFunc(g.Hosts, func(h Host) bool { return len(g.HostCPUs[h.Name]) == 0 })
}

// Local reports whether all hosts are this machine.
func (g HostInfo) Local() bool { return AllLocal(g.Hosts) }

// AllLocal reports whether all of the hosts are this machine.
func AllLocal(hosts []Host) bool {
	return !slices.ContainsFunc(hosts, func(h Host) bool { return !h.Local })
}

// Programs returns the Host.Programs of all hosts that are this machine.
func (g HostInfo) Programs() []string {
	var out []string
	for _, h := range g.Hosts {
		if h.Local {
			out = append(out, h.Programs...)
		}
	}
	return out
}
