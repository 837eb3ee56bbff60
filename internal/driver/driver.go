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
	"tare/internal/study"
)

// Driver builds the modes of one prefix.
type Driver interface {
	// Modes lists what the driver can build. It needs no rights.
	Modes() []Mode
	// Probe tries whether what is ordered can be built here and leaves nothing
	// behind. It returns nil, an *Unsupported error that says what is lacking, or
	// another error when it could not find out.
	Probe(ctx context.Context, o ModeSpec) error
	// Provision builds what is ordered. On error nothing is left.
	Provision(ctx context.Context, o ModeSpec) (*Path, error)
}

// ModeSpec says what a driver is to build for a run: one mode.
type ModeSpec struct {
	Mode    string            // as Registry.For found it, its parameter included
	Name    string            // of the mode in its study; Mode where the study gives it none of its own
	Run     string            // the run's id, which everything made carries
	Label   string            // tells what is made for the modes of one run apart; fit for names of files and namespaces
	Pairs   int               // of endpoints, at least 1, each in sandboxes of its own
	Limits  study.Limits      // of what the sandboxes may use
	Options map[string]string // for the network's own driver
	MTU     int               // inside the mode's tunnel, bytes; 0 leaves it to the mode
}

// MaxPairs is how many pairs a path can have: so many have addresses of their own
// in every subnet of a lab.
const MaxPairs = 100

// CheckPairs refuses an order of fewer pairs than 1 or more than MaxPairs.
func (o ModeSpec) CheckPairs() error {
	if o.Pairs < 1 || o.Pairs > MaxPairs {
		return fmt.Errorf("provision %s: %d pairs of ends asked for; from 1 to %d can be had", o.Mode, o.Pairs, MaxPairs)
	}
	return nil
}

// CheckNoLimits refuses what Countable does, and an order with limits: of a mode whose
// sandboxes no engine makes.
func (o ModeSpec) CheckNoLimits() error {
	if err := o.CheckPairs(); err != nil {
		return err
	}
	if o.Limits != (study.Limits{}) {
		return &Unsupported{Mode: o.Mode, Reason: "limits are applied by an engine, and this mode has none"}
	}
	return nil
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
	// SetupTime is how long making it and taking it down takes, about; for estimates, and
	// for how long a run waits. 0 is the time of a few namespaces: plan.ModeOverhead.
	SetupTime time.Duration
}

// Pair is a client and the server it reaches over the path.
type Pair struct{ Client, Server Endpoint }

// Endpoint is one end of a path: where its agent is started and, for the server,
// where it listens and what the client dials to reach it. A listening port of 0
// is chosen by the server, and then stands in for the dialled one too.
type Endpoint struct {
	Name     string // host/sandbox, for people
	Host     string // the host of the path that it runs on, by its name
	Stack    string // the network stack it is in, as NetworkStack names it
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
