// Package remote gives drivers access to machines that are reached through agents only:
// their counters, links and routes, the devices that a sandbox's traffic passes, and short
// exchanges that show what is between two endpoints.
//
// A transport.Launcher is whatever can start this program on such a machine, for instance a
// container engine.
package remote

import (
	"context"
	"fmt"
	"net/netip"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/agent/wire"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/observe/netstack"
	"tare/internal/result"
)

// Stack is a network stack that an agent inside it reads.
type Stack struct{ Agent *agent.Client }

// Links reads the counters of devices.
func (s *Stack) Links(ctx context.Context, _ []string) (map[string]pathspec.Link, error) {
	all, _, err := s.Agent.Links(ctx, netip.Addr{})
	if err != nil {
		return nil, err
	}
	out := map[string]pathspec.Link{}
	for _, l := range all {
		out[l.Name] = pathspec.Link{TxBytes: l.TxBytes, RxBytes: l.RxBytes, CarrierChanges: l.CarrierChanges}
	}
	return out, nil
}

// Read reads all counters that the agent can see.
func (s *Stack) Read(ctx context.Context) (netstack.Reading, error) { return s.Agent.Read(ctx) }

// Describe reads what a device is.
func (s *Stack) Describe(ctx context.Context, name string) (string, []result.Fact, error) {
	all, _, err := s.Agent.Links(ctx, netip.Addr{})
	if err != nil {
		return "", nil, err
	}
	for _, l := range all {
		if l.Name != name {
			continue
		}
		facts := []result.Fact{{Name: "mtu", Value: fmt.Sprint(l.MTU)}}
		for _, a := range l.Addresses {
			if !a.Addr().IsLinkLocalUnicast() {
				facts = append(facts, result.Fact{Name: "address", Value: a.String()})
			}
		}
		return kindOf(l), facts, nil
	}
	return "", nil, fmt.Errorf("device %s no longer exists", name)
}

func kindOf(l wire.Link) string {
	switch {
	case l.Loopback:
		return "loopback"
	case l.Kind == "":
		return "device"
	}
	return l.Kind
}

// hostStack is the network stack of a host, which carries other traffic too.
type hostStack struct{ *Stack }

// Shared marks the stack as shared.
func (hostStack) Shared() {}

// Host is a machine that an agent in its host network, the monitor, reads for the length of
// a run.
type Host struct {
	pathspec.Place
	Address  netip.Addr         // at which other hosts reach it; invalid if there are none
	Launcher transport.Launcher // of processes in the host network
	Monitor  *agent.Client      // nil if nothing of the run is in the host network, which then is not read
	port     uint16             // next result of NextPort
}

// NextPort returns a new port for a path that needs one on the host: the port of its first
// pair, and those that follow.
func (h *Host) NextPort() uint16 {
	p := h.port
	h.port++
	return p
}

// UsePortsFrom makes port the next result of NextPort.
func (h *Host) UsePortsFrom(port uint16) { h.port = port }

// Open starts a host's monitor.
func Open(ctx context.Context, l transport.Launcher, run, name string, address netip.Addr) (*Host, error) {
	monitor, err := agent.Start(ctx, l, run, name)
	if err != nil {
		return nil, err
	}
	return &Host{
		Place:   pathspec.Place{At: name, Host: name, Stack: hostStack{&Stack{monitor}}},
		Address: address, Launcher: l, Monitor: monitor, port: pathspec.FirstPort,
	}, nil
}

// Close ends the monitor.
func (h *Host) Close() error {
	if h.Monitor == nil {
		return nil
	}
	return h.Monitor.Close()
}

// lost reports whether the host's monitor has exited.
func (h *Host) lost() bool { return h.Monitor != nil && h.Monitor.Err() != nil }

// OwnAddress returns an address of the host: the one at which it is reached if the host has
// it, else that of its first device that is not a bridge.
func (h *Host) OwnAddress(ctx context.Context) (netip.Addr, error) {
	links, _, err := h.Monitor.Links(ctx, netip.Addr{})
	if err != nil {
		return netip.Addr{}, err
	}
	var first netip.Addr
	for _, l := range links {
		for _, a := range l.Addresses {
			if a.Addr() == h.Address {
				return a.Addr(), nil
			}
			if !first.IsValid() && l.Up && !l.Loopback && l.Kind != "bridge" && a.Addr().Is4() && !a.Addr().IsLinkLocalUnicast() {
				first = a.Addr()
			}
		}
	}
	if !first.IsValid() {
		return first, fmt.Errorf("host %s has no IPv4 address except loopback", h.At)
	}
	return first, nil
}

// HasAddress reports whether a device of the host has an address.
func (h *Host) HasAddress(ctx context.Context, addr netip.Addr) bool {
	_, err := LinkWithAddress(ctx, h.Monitor, addr)
	return err == nil
}

// ListenAddress returns the address on which a process of the host must listen to be
// reached at an address: that address if the host has it, else the wildcard.
func (h *Host) ListenAddress(ctx context.Context, at netip.Addr) netip.Addr {
	switch {
	case h.HasAddress(ctx, at):
		return at
	case at.Is6():
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// DeviceToward finds the device by which the host reaches an address of another host: that
// of the route or, where a system does not tell it, the one with the address from which the
// host dials. The two differ where a host has its address on loopback or on a bridge.
func (h *Host) DeviceToward(ctx context.Context, addr netip.Addr) (wire.Link, error) {
	out, from, err := h.Monitor.Route(ctx, addr)
	if err != nil {
		return wire.Link{}, fmt.Errorf("host %s has no route to %s: %w", h.At, addr, err)
	}
	l, err := linkNamed(ctx, h.Monitor, out)
	if out == "" {
		l, err = LinkWithAddress(ctx, h.Monitor, from)
	}
	if err == nil && l.Loopback {
		err = &SameMachine{h.At, addr}
	}
	return l, err
}

// SameMachine is the error that a host itself has the address at which another is reached.
type SameMachine struct {
	Host string
	Addr netip.Addr
}

func (s *SameMachine) Error() string {
	return fmt.Sprintf("host %s has the address %s itself, so both hosts are on one machine", s.Host, s.Addr)
}

// DevicesStep represents, in a topology, whichever device of the host leads to the other.
func (h *Host) DevicesStep() pathspec.Step {
	return pathspec.ProvenBy(pathspec.RuleStep(h.Place, "devices", "the host's own"), h.At+"/devices")
}

// sentCounter returns the name of the counter of what all of the host's devices have sent.
func (h *Host) sentCounter() string { return pathspec.CounterName(h.At, "devices", "tx_bytes") }

// readSent reads that counter, without loopback and the devices of containers.
func (h *Host) readSent(ctx context.Context, into driver.Counters) error {
	links, _, err := h.Monitor.Links(ctx, netip.Addr{})
	if err != nil {
		return err
	}
	var sum uint64
	for _, l := range links {
		switch {
		case l.Loopback, l.Kind == "bridge", l.Kind == "vxlan", l.Kind == "veth" && l.Master != 0:
		default:
			sum += l.TxBytes
		}
	}
	into[h.sentCounter()] = sum
	return nil
}

// linkNamed finds a device by its name, in the agent's network stack.
func linkNamed(ctx context.Context, a *agent.Client, name string) (wire.Link, error) {
	links, _, err := a.Links(ctx, netip.Addr{})
	if err != nil {
		return wire.Link{}, err
	}
	for _, l := range links {
		if l.Name == name {
			return l, nil
		}
	}
	return wire.Link{}, fmt.Errorf("device %s no longer exists", name)
}

// LinkWithAddress finds the device that has an address, in the agent's network stack.
func LinkWithAddress(ctx context.Context, a *agent.Client, addr netip.Addr) (wire.Link, error) {
	links, _, err := a.Links(ctx, netip.Addr{})
	if err != nil {
		return wire.Link{}, err
	}
	for _, l := range links {
		for _, own := range l.Addresses {
			if own.Addr() == addr {
				return l, nil
			}
		}
	}
	return wire.Link{}, fmt.Errorf("no device has the address %s", addr)
}
