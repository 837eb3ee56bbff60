// Package driver defines the interface between a run and the code that builds network
// modes. Each folder below it is a driver: the modes with one prefix.
package driver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/study"
	"tare/internal/traffic"
)

// Driver builds the modes of one prefix.
type Driver interface {
	// Modes lists the modes that the driver can build. It needs no privileges.
	Modes() []Mode
	// Probe tests whether the mode can be built here and leaves nothing behind. It returns
	// nil, an *Unsupported error that says what is missing, or another error if it could
	// not find out.
	Probe(ctx context.Context, o Order) error
	// Provision builds the mode. On error nothing of it is left.
	Provision(ctx context.Context, o Order) (*Path, error)
}

// Order describes one mode that a driver builds for a run.
type Order struct {
	Mode    string            // as Registry.For returned it, including its parameter
	Name    string            // name of the mode in the study; Mode if the study does not name it
	Run     string            // the run's id, which is part of the name of everything created
	Label   string            // distinguishes the modes of one run; valid in names of files and namespaces
	Pairs   int               // of endpoints, at least 1, each with its own sandboxes
	Limits  study.Limits      // CPU and memory limits of the sandboxes
	Options map[string]string // for the network driver
	MTU     int               // inside the mode's tunnel, bytes; 0 is the mode's default
	// With holds the variant's settings: the mode's parts that are left out, each with the
	// value "off", and settings of package setting.
	With map[string]string
	// Engine is the private Docker Engine that builds the mode.
	Engine study.Engine
	// Events are the events of the workloads that the run has for the mode: some need a mode that is set up for them.
	Events []string
	// Clock records when the first pair is set up; nil records nothing.
	Clock *SetupClock
}

// Off is the value in With that leaves a part out.
const Off = "off"

// Without reports whether the variant leaves a part of the mode out.
func (o Order) Without(part string) bool { return o.With[part] == Off }

// MaxPairs is the maximum number of pairs on a path, and ManyPairs that of the modes that
// need no engine and have clients and servers in subnets of their own: each subnet of a lab
// has 254 addresses.
const (
	MaxPairs  = 100
	ManyPairs = 200
)

// CheckPairs returns an error if the number of pairs is below 1 or above MaxPairs.
func (o Order) CheckPairs() error { return o.checkPairs(MaxPairs) }

func (o Order) checkPairs(most int) error {
	if o.Pairs < 1 || o.Pairs > most {
		return fmt.Errorf("provision %s: %d pairs of endpoints requested; use 1 to %d", o.Mode, o.Pairs, most)
	}
	return nil
}

// CheckNoLimits is CheckPairs for modes without a container engine: it also rejects limits.
func (o Order) CheckNoLimits() error { return o.checkNoLimits(MaxPairs) }

// CheckManyPairs is CheckNoLimits for modes that can have ManyPairs.
func (o Order) CheckManyPairs() error { return o.checkNoLimits(ManyPairs) }

func (o Order) checkNoLimits(most int) error {
	if err := o.checkPairs(most); err != nil {
		return err
	}
	if o.Limits != (study.Limits{}) {
		return &Unsupported{Mode: o.Mode, Reason: "limits are applied by a container engine, and this mode has none"}
	}
	return nil
}

// Mode describes a mode. Baseline is the id of the mode that it is compared with by
// default; it is empty for a baseline. An id that ends in ":NAME" stands for all modes with
// a user-supplied name in that place.
type Mode struct {
	ID       string
	Title    string
	Baseline string
	Limits   study.Ends // endpoints that can have limits, because a container engine creates their sandboxes
	Options  bool       // accepts options for the network driver
	MTU      bool       // accepts an MTU for the inside of its tunnel
	Headers  int        // bytes that its tunnel adds, as of study.Offer
	Bounded  bool       // the underlay's MTU bounds its own, as of study.Offer
	MaxMTU   int        // the largest MTU of its software, as of study.Offer
	Engine   bool       // is built by a private Docker Engine, which a study can choose
	Like     string     // the mode of a real engine with the same devices, to which that engine adds; empty if there is none
	// Explains means that Like also has the same endpoints, so that the cost of that mode is explained by
	// the parts of this one.
	Explains bool
	Split    Split // how the mode is built between two machines
	// TimesSetup means that the driver tells Order.Clock how the set-up proceeds, and either that the endpoints have stacks of this
	// machine's kernel or when the server was reached.
	TimesSetup bool
	// Detour is a counter or rule that shows that traffic takes a cable between the two endpoints instead of
	// the mode: the driver's conformance test lays one and requires that the proof fails on it. Empty if that
	// test cannot lay one.
	Detour string
	// Cannot returns in a clause why a variant of the mode with these settings cannot carry a workload, such as
	// "it sends datagrams, and ..."; empty if it can. The workload is then left out of the trials of the mode.
	// nil: it carries all.
	Cannot func(w study.Workload, of traffic.Spec, with map[string]string) string
	// Parts can be left out one by one, in the order in which the mode builds them on its
	// baseline: without all of them the mode is the baseline with the driver's own set-up.
	Parts []Part
	// PartModes are the steps from the baseline up to a mode whose parts cannot be left out one by one: modes that
	// have one part more than the one before. Those behind the mode itself come on top of it and of each other.
	PartModes []PartMode
	// Events are the names of events that its paths have, those of all variants together: see Path.Events.
	Events []string
	// Settings are the names of those settings of package setting that the mode accepts.
	Settings []string
	// Own are settings that only this mode has: its driver applies them while it builds the
	// mode, reads them back and adds the rules that prove them.
	Own []OwnSetting
	// SetupTime is roughly how long setting up and removing the mode takes. It is used for
	// estimates and for timeouts. 0 is the time for a few namespaces, plan.ModeOverhead.
	SetupTime time.Duration
}

// SettingsTake is how much longer setting up a variant with these settings takes than SetupTime.
func (m Mode) SettingsTake(with map[string]string) (sum time.Duration) {
	for _, own := range m.Own {
		if value, has := with[own.Name]; has && own.Takes != nil {
			sum += own.Takes(value)
		}
	}
	return sum
}

// WhyNot is m.Cannot, for any mode, and says if the mode lacks the event of the workload.
func (m Mode) WhyNot(w study.Workload, of traffic.Spec, with map[string]string) string {
	if w.Event != "" && !slices.Contains(m.Events, w.Event) {
		return noEvent(w.Event, m.Events)
	}
	if w.Event == RouteChange || w.Event == LinkLost {
		for _, name := range slices.Sorted(maps.Keys(with)) {
			if slices.Contains(m.Settings, name) {
				return fmt.Sprintf("the event %s leads over a second link, to which settings are not applied; leave out %s", w.Event, name)
			}
		}
	}
	if w.Event == study.EndpointReplaced && w.Kind == "tcp_rr" {
		return "its flows stop with their connections, which are those of the server that is replaced; use http"
	}
	if m.Cannot == nil {
		return ""
	}
	return m.Cannot(w, of, with)
}

// TCPOnly is Cannot of a mode that carries no datagrams. why says so in a clause.
func TCPOnly(why string) func(study.Workload, traffic.Spec, map[string]string) string {
	return func(_ study.Workload, of traffic.Spec, _ map[string]string) string {
		if !of.Datagrams {
			return ""
		}
		return "it sends datagrams, and " + why
	}
}

// Split is how a mode of a lab is built between two machines, by a driver that can build halves.
type Split int

// How a mode is split.
const (
	// SplitHalves: each machine builds the host that it is.
	SplitHalves Split = iota
	// SplitOnCard is SplitHalves for sandboxes whose devices are beside the host's on its network card.
	SplitOnCard
	// SplitAlone: the mode is within one host, which the first machine builds in a lab of its own.
	SplitAlone
	// SplitNever: the network of the machines is the mode, or the mode cannot be built beside it.
	SplitNever
)

// Part is a part of a mode that can be left out. Its ID is its key in a study's with. Avoid says what to
// do on a network of one's own to get its cost back, as an imperative; empty where nothing is known.
type Part struct{ ID, Title, Avoid string }

// PartMode is a mode, or a variant of one, with the part that it has and the one before has not.
type PartMode struct {
	Part
	Mode string
	With map[string]string
}

// OwnSetting is a setting that only some modes of one driver have.
type OwnSetting struct {
	study.SettingSpec
	Title string // what it does, in a few words
	// Takes is how much longer setting up the mode takes with a valid value; nil: no longer.
	Takes func(value string) time.Duration
}

// Within accepts a decimal number from least to most without leading zeros, as the value of a setting.
func Within(least, most int) func(value string) bool {
	return func(value string) bool {
		n, err := strconv.Atoi(value)
		return err == nil && strconv.Itoa(n) == value && n >= least && n <= most
	}
}

// Pair is a client and the server that it reaches over the path.
type Pair struct{ Client, Server Endpoint }

// Endpoint is one end of a path: where its agent is started and, for the server, where it
// listens and what the client dials. If the listening port is 0, the server chooses a port,
// which then replaces the dialled port too.
type Endpoint struct {
	Name     string // host/sandbox, for messages
	Host     string // name of the path's host on which it runs
	Stack    string // NetworkStack.Name of its network stack
	Launcher transport.Launcher
	OwnCPUs  bool             // it uses the CPUs of a virtual machine, which have their own numbers
	Listen   []netip.AddrPort // by address family; empty for the client
	Dial     []netip.AddrPort
	// HTTPHost is what requests of HTTP/1.1 to the server name as their host, so that a proxy at Dial finds it, and
	// HTTP2Host what those of HTTP/2 and gRPC name; empty for the address.
	HTTPHost, HTTP2Host string
}

// HostFor returns what requests of a workload of that kind name as their host, empty for the address.
func (e Endpoint) HostFor(kind string) string {
	if kind == "http2" || kind == "grpc" {
		return e.HTTP2Host
	}
	return e.HTTPHost
}

// Reach returns the addresses to listen on and to dial for one address family.
func (e Endpoint) Reach(ipv6 bool) (listen, dial netip.AddrPort, err error) {
	for i, a := range e.Dial {
		if a.Addr().Is6() == ipv6 {
			return e.Listen[i], a, nil
		}
	}
	return listen, dial, fmt.Errorf("%s has no address of the requested family (ipv6: %t)", e.Name, ipv6)
}

// Unsupported is the error that a mode cannot be built here.
type Unsupported struct {
	Mode   string
	Reason string // what is required and what was found
}

func (u *Unsupported) Error() string { return u.Mode + " is unsupported here: " + u.Reason }

// AsUnsupported finds an Unsupported error in err.
func AsUnsupported(err error) (*Unsupported, bool) {
	var u *Unsupported
	ok := errors.As(err, &u)
	return u, ok
}
