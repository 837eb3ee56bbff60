// Package pathspec is what a driver writes down while it builds a path: where the
// ends are, which counters to watch, what those must show, and which steps to draw.
// From these notes the path is proven and drawn, whatever built it.
package pathspec

import (
	"context"
	"fmt"
	"net/netip"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/result"
)

// Path is the notes on a mode that stands: Done makes a driver.Path of them.
type Path struct {
	Mode      string
	PairCount int // pairs that were asked for

	pairs []driver.Pair
	first [2]string // where the ends of the first pair are
	stood []Place   // network stacks, each once
	links []link
	watch []CounterReader
	rules []driver.Rule
	steps []Step
}

// Place is a network stack with its name in counters and drawings.
type Place struct {
	At    string // host, or host/sandbox
	Host  string
	Stack Stack
}

// Stack is a network stack whose devices can be read. It must be comparable: the
// devices of equal stacks are read together.
type Stack interface {
	// Links reads the counters of devices by their names.
	Links(ctx context.Context, names []string) (map[string]Link, error)
	// Describe reads what a device is and how it is set.
	Describe(ctx context.Context, name string) (kind string, facts []result.Fact, err error)
}

// Link is the counters of a device since it was made: bytes, and how often it lost
// or found its carrier, nil where nobody counts.
type Link struct {
	TxBytes, RxBytes uint64
	CarrierChanges   *uint64
}

// Device is a device of a place. Role names it for people where the kernel's own
// name is a random one, as in "server.veth".
type Device struct{ Name, Role string }

func (d Device) label() string {
	if d.Role != "" {
		return d.Role
	}
	return d.Name
}

// CounterReader reads further counters into those given.
type CounterReader func(ctx context.Context, into driver.Counters) error

type link struct {
	at  Place
	dev Device
}

// Endpoint is where the agent of one end is started.
type Endpoint struct {
	Place    Place
	Launcher transport.Launcher
	OwnCPUs  bool // as driver.Endpoint has it
}

// FirstPort is the data port of the first pair of paths that fix it, as a
// published port does; the others follow.
const FirstPort = 5201

// ServerChoosesPort leaves the choice to the server.
const ServerChoosesPort = 0

// AddPair notes the ends of one more pair. The server listens on its addresses at a
// port and is dialled at others, both IPv4 first. A port of ServerChoosesPort is the server's
// choice.
func (p *Path) AddPair(client, server Endpoint, listen, dial []netip.Addr, port uint16) {
	p.AddPairPorts(client, server, WithPort(listen, port), WithPort(dial, port))
}

// AddPairPorts is Ends with a port for each address.
func (p *Path) AddPairPorts(client, server Endpoint, listen, dial []netip.AddrPort) {
	p.stands(client.Place)
	p.stands(server.Place)
	from := driver.Endpoint{Name: client.Place.At, Host: client.Place.Host, Stack: p.placeOf(client.Place), Launcher: client.Launcher, OwnCPUs: client.OwnCPUs}
	to := driver.Endpoint{Name: server.Place.At, Host: server.Place.Host, Stack: p.placeOf(server.Place), Launcher: server.Launcher, OwnCPUs: server.OwnCPUs, Listen: listen, Dial: dial}
	n := len(p.pairs) + 1
	if n == 1 {
		p.first = [2]string{client.Place.At, server.Place.At}
	}
	if n > 1 && client.Place.At == p.first[0] {
		from.Name += fmt.Sprintf("#%d", n) // several processes of one host
	}
	if n > 1 && server.Place.At == p.first[1] {
		to.Name += fmt.Sprintf("#%d", n)
	}
	p.pairs = append(p.pairs, driver.Pair{Client: from, Server: to})
}

// WithPort gives every address the same port.
func WithPort(addrs []netip.Addr, port uint16) []netip.AddrPort {
	var out []netip.AddrPort
	for _, a := range addrs {
		out = append(out, netip.AddrPortFrom(a, port))
	}
	return out
}

// Pairs gives the ends that were noted.
func (p *Path) Pairs() []driver.Pair { return p.pairs }

// DriverPath is the path of these notes, with what only its driver knows of it: Hosts, Facts
// and Close, and perhaps Snapshot in place of the notes' own.
func (p *Path) DriverPath(own driver.Path) *driver.Path {
	own.Mode, own.Pairs, own.Stacks, own.Rules = p.Mode, p.pairs, p.stacks(), p.rules
	own.Topology = p.Topology
	if own.Snapshot == nil {
		own.Snapshot = p.Snapshot
	}
	if own.FlushConnections == nil {
		own.FlushConnections = func(context.Context) error { return nil } // nothing on the path tracks connections
	}
	return &own
}

// ForEachPair builds the pairs one after the other, counted from 1.
func (p *Path) ForEachPair(build func(pair int) error) error {
	for pair := 1; pair <= p.PairCount; pair++ {
		if err := build(pair); err != nil {
			return err
		}
	}
	return nil
}
