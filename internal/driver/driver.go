// Package driver is the contract between a run and the code that builds network
// modes. Each folder below is a driver: the modes with one prefix.
package driver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/study"
)

// Driver builds the modes of one prefix.
type Driver interface {
	// Modes lists what the driver can build. It needs no rights.
	Modes() []Mode
	// Probe tries whether what is ordered can be built here and leaves nothing
	// behind. It returns nil, an *Unsupported error that says what is lacking, or
	// another error when it could not find out. It makes a lab of its own.
	Probe(ctx context.Context, o Order) error
	// Provision builds what is ordered, hosts included. On error nothing is left.
	Provision(ctx context.Context, o Order) (Path, error)
}

// Order says what a driver is to build: one mode with its hosts.
type Order struct {
	Mode    string            // as Registry.For found it, its parameter included
	Pairs   int               // of ends, at least 1, each in sandboxes of its own
	Lab     lab.Spec          // of the hosts, where the driver makes them
	Limits  study.Limits      // of what the sandboxes may use
	Options map[string]string // for the network's own driver
	MTU     int               // inside the mode's tunnel, bytes; 0 leaves it to the mode
}

// Mode describes a mode. Baseline is the id of the mode that it is compared with
// by default, empty for a baseline. An id that ends in ":NAME" stands for all that
// have a name of the user's in that place.
type Mode struct {
	ID       string
	Title    string
	Baseline string
	Limits   study.Ends // that can be limited: an engine makes their sandboxes
	Options  bool       // takes options for the network's own driver
	MTU      bool       // takes an MTU for the inside of its tunnel
	// Takes is how long making it and taking it down takes, about; for estimates, and
	// for how long a run waits. 0 is the time of a few namespaces: plan.ModeOverhead.
	Takes time.Duration
}

// Path is a mode that stands: pairs of ends and the devices between them.
type Path interface {
	Prover
	// Pairs gives the ends, as many pairs as were asked for, always in the same
	// order. A trial may leave the last of them idle.
	Pairs() []Pair
	// Forget lets go of what the path remembers of connections that have ended,
	// as connection tracking does, so that each trial meets it as the first did.
	Forget(ctx context.Context) error
	// Topology is the path as a graph, with what was read back of each device.
	Topology() (result.Topology, error)
	// Facts are what the mode stands on beyond the machine, such as the versions of
	// an engine. May be empty.
	Facts() []result.Fact
	// Close takes the path and its hosts down. It may be called again, and after
	// half a Provision. The agents must have ended.
	Close(ctx context.Context) error
}

// Prover shows that traffic took the path on the label.
type Prover interface {
	// Snapshot reads every counter that the proof needs.
	Snapshot(ctx context.Context) (Counters, error)
	// Prove compares two snapshots with what each pair carried between them, in
	// the order of Pairs. Pairs beyond that were idle, and what is theirs alone
	// must have rested. Its error names the counter that does not fit: the mode is
	// then void.
	Prove(ctx context.Context, before, after Counters, carried []Carried) error
}

// Teller is a Prover that can say what its proof rests on. It is optional: where a path
// does not say, its drawing shows counters without what they had to show.
type Teller interface {
	// Findings are what Prove holds against what was carried, rule by rule.
	Findings(before, after Counters, carried []Carried) []result.Finding
}

// Pair is a client and the server it reaches over the path.
type Pair struct{ Client, Server Endpoint }

// Endpoint is one end of a path: where its agent is started and, for the server,
// where it listens and what the client dials to reach it. A listening port of 0
// is chosen by the server, and then stands in for the dialled one too.
type Endpoint struct {
	Name     string // host/sandbox, for people
	Place    string // the network stack it is in, as Place names it
	Launcher transport.Launcher
	OwnCPUs  bool             // it is on a virtual machine's, which have numbers of their own
	Listen   []netip.AddrPort // by address family; empty for the client
	Dial     []netip.AddrPort
}

// Reach picks where to listen and what to dial in one address family.
func (e Endpoint) Reach(ipv6 bool) (listen, dial netip.AddrPort, err error) {
	for i, a := range e.Dial {
		if a.Addr().Is6() == ipv6 {
			return e.Listen[i], a, nil
		}
	}
	return listen, dial, fmt.Errorf("%s has no address of the family asked for (ipv6: %t)", e.Name, ipv6)
}

// Unsupported says why a mode cannot be built here.
type Unsupported struct {
	Mode   string
	Reason string // what is needed and what is there
}

func (u *Unsupported) Error() string { return u.Mode + " is unsupported here: " + u.Reason }

// AsUnsupported finds an Unsupported error in err.
func AsUnsupported(err error) (*Unsupported, bool) {
	var u *Unsupported
	ok := errors.As(err, &u)
	return u, ok
}
