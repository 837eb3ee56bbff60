// Package pathspec is what a driver declares while it builds a path: the endpoints, the
// counters to read, the rules for them, and the steps of the topology. It derives the
// driver.Path from that, independent of what built the path.
package pathspec

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/result"
)

// Path is the specification of a mode; DriverPath converts it to a driver.Path.
type Path struct {
	Mode      string
	PairCount int // requested pairs
	// CountersLate is as in driver.Path.
	CountersLate time.Duration
	// Sizes and Warnings are as in driver.Path.
	Sizes    driver.PacketSizes
	Warnings []result.Warning
	// Clock is told when the first pair is added; nil is nobody.
	Clock *driver.SetupClock

	pairs     []driver.Pair
	firstPair [2]string // places of the first pair's endpoints
	places    []Place   // network stacks, each once
	links     []link
	readers   []CounterReader
	rules     []driver.Rule
	steps     []Step
	facts     []result.Fact
	checks    []func() error
	restore   []func(context.Context) error
}

// Place is a network stack with its name in counters and topologies.
type Place struct {
	At    string // host, or host/sandbox
	Host  string
	Stack Stack
}

// Stack is a network stack whose devices can be read. It must be comparable: devices of
// equal stacks are read together.
type Stack interface {
	// Links reads the counters of devices by name.
	Links(ctx context.Context, names []string) (map[string]Link, error)
	// Describe reads the kind and the settings of a device.
	Describe(ctx context.Context, name string) (kind string, facts []result.Fact, err error)
}

// Link is the counters of a device since its creation: bytes, and the number of carrier
// changes, nil if unknown.
type Link struct {
	TxBytes, RxBytes uint64
	CarrierChanges   *uint64
}

// Device is a device in a place. Role replaces a random kernel name in messages, as in
// "server.veth".
type Device struct{ Name, Role string }

func (d Device) label() string {
	if d.Role != "" {
		return d.Role
	}
	return d.Name
}

// Counter returns the name of a counter of the device in a place.
func (d Device) Counter(at Place, what string) string { return CounterName(at.At, d.label(), what) }

// CounterReader adds further counters to those given.
type CounterReader func(ctx context.Context, into driver.Counters) error

type link struct {
	at  Place
	dev Device
}

// Endpoint is where the agent of one endpoint is started.
type Endpoint struct {
	Place    Place
	Launcher transport.Launcher
	OwnCPUs  bool // as in driver.Endpoint
}

// FirstPort is the data port of the first pair on paths with fixed ports, such as published
// ports; further pairs use the following ports.
const FirstPort = 5201

// ServerChoosesPort lets the server choose its port.
const ServerChoosesPort = 0

// AddPair adds a pair of endpoints. The server listens on the addresses of listen and is
// dialled at those of dial, IPv4 first, all with the same port or ServerChoosesPort.
func (p *Path) AddPair(client, server Endpoint, listen, dial []netip.Addr, port uint16) {
	p.AddPairPorts(client, server, WithPort(listen, port), WithPort(dial, port))
}

// AddPairPorts is AddPair with a port for each address.
func (p *Path) AddPairPorts(client, server Endpoint, listen, dial []netip.AddrPort) {
	p.addStack(client.Place)
	p.addStack(server.Place)
	from := driver.Endpoint{Name: client.Place.At, Host: client.Place.Host, Stack: p.stackName(client.Place), Launcher: client.Launcher, OwnCPUs: client.OwnCPUs}
	to := driver.Endpoint{Name: server.Place.At, Host: server.Place.Host, Stack: p.stackName(server.Place), Launcher: server.Launcher, OwnCPUs: server.OwnCPUs, Listen: listen, Dial: dial}
	n := len(p.pairs) + 1
	if n == 1 {
		p.firstPair = [2]string{client.Place.At, server.Place.At}
	}
	if n > 1 && client.Place.At == p.firstPair[0] {
		from.Name += fmt.Sprintf("#%d", n) // several processes on one host
	}
	if n > 1 && server.Place.At == p.firstPair[1] {
		to.Name += fmt.Sprintf("#%d", n)
	}
	p.pairs = append(p.pairs, driver.Pair{Client: from, Server: to})
	if n == 1 {
		p.Clock.Pair(inStack(client.Place), inStack(server.Place), listen, dial)
	}
}

// NameHosts sets the hosts that requests of HTTP/1.1 and of HTTP/2 to the server of the last pair name, by which a proxy
// finds it.
func (p *Path) NameHosts(http, http2 string) {
	to := &p.pairs[len(p.pairs)-1].Server
	to.HTTPHost, to.HTTP2Host = http, http2
}

// SocketOpener is a Stack of this machine in which this program can open sockets.
type SocketOpener interface{ InStack(func() error) error }

// inStack is how sockets of a place are opened, nil if they cannot be.
func inStack(at Place) driver.InStack {
	if s, ok := at.Stack.(SocketOpener); ok {
		return s.InStack
	}
	return nil
}

// WithPort combines each address with the same port.
func WithPort(addrs []netip.Addr, port uint16) []netip.AddrPort {
	var out []netip.AddrPort
	for _, a := range addrs {
		out = append(out, netip.AddrPortFrom(a, port))
	}
	return out
}

// Pairs returns the pairs that were added.
func (p *Path) Pairs() []driver.Pair { return p.pairs }

// DriverPath completes own, which has what only the driver knows: Hosts, Facts, Close, and
// optionally Snapshot to replace the one of this Path.
func (p *Path) DriverPath(own driver.Path) *driver.Path {
	own.Mode, own.Pairs, own.Stacks, own.Rules = p.Mode, p.pairs, p.Stacks(), p.attributed()
	own.Topology, own.CountersLate = p.Topology, max(own.CountersLate, p.CountersLate)
	own.Sizes, own.Warnings = p.Sizes, slices.Concat(own.Warnings, p.Warnings)
	if own.Snapshot == nil {
		own.Snapshot = p.Snapshot
	}
	own.Facts = append(own.Facts[:len(own.Facts):len(own.Facts)], p.facts...)
	own.Checks = slices.Concat(own.Checks, p.checks)
	own.FlushConnections = p.flush(own.FlushConnections)
	return &own
}

// ForEachPair calls build for each pair in turn, counted from 1.
func (p *Path) ForEachPair(build func(pair int) error) error {
	for pair := 1; pair <= p.PairCount; pair++ {
		if err := build(pair); err != nil {
			return err
		}
	}
	return nil
}

// Places returns the network stacks of the path, each once.
func (p *Path) Places() []Place { return slices.Clone(p.places) }
