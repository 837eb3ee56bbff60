// Package remote is what a driver needs of machines that it reaches through agents alone:
// their counters, links and routes, the devices that the traffic of a sandbox passes, and
// short exchanges that show what is between two ends.
//
// Whatever can start this program on such a machine is a transport.Launcher here: a
// container engine, or anything else.
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

// Stack is a network stack that an agent in it reads.
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
	return "", nil, fmt.Errorf("there is no device %s any more", name)
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

// hostStack is that of a host, which the run shares with whatever else runs there.
type hostStack struct{ *Stack }

// Shared marks it so.
func (hostStack) Shared() {}

// Host is a machine that an agent on its own network reads for the length of a run: its
// monitor.
type Host struct {
	pathspec.Place
	Address  netip.Addr         // at which the other hosts reach it; none where there is no other
	Launcher transport.Launcher // of processes on the host's own network
	Monitor  *agent.Client
	port     uint16 // that NextPort gives next
}

// NextPort gives each time another port for paths of the run that need one of the host's:
// that of the first pair and those that follow.
func (h *Host) NextPort() uint16 {
	p := h.port
	h.port++
	return p
}

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
func (h *Host) Close() error { return h.Monitor.Close() }

// OwnAddress finds an address of the host's own: the one at which it is reached where
// the host has that, else that of its first device that is not a bridge.
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
		return first, fmt.Errorf("host %s has no IPv4 address of its own beside loopback", h.At)
	}
	return first, nil
}

// HasAddress reports whether a device of the host has an address.
func (h *Host) HasAddress(ctx context.Context, addr netip.Addr) bool {
	_, err := LinkWithAddress(ctx, h.Monitor, addr)
	return err == nil
}

// ListenAddress is where a process of the host listens to be reached at an address: there,
// where the host has it, else everywhere.
func (h *Host) ListenAddress(ctx context.Context, at netip.Addr) netip.Addr {
	switch {
	case h.HasAddress(ctx, at):
		return at
	case at.Is6():
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// DeviceToward finds the device by which the host reaches an address of another.
func (h *Host) DeviceToward(ctx context.Context, addr netip.Addr) (wire.Link, error) {
	_, from, err := h.Monitor.Links(ctx, addr)
	if err != nil {
		return wire.Link{}, fmt.Errorf("host %s has no way to %s: %w", h.At, addr, err)
	}
	l, err := LinkWithAddress(ctx, h.Monitor, from)
	if err == nil && l.Loopback {
		err = &SameMachine{h.At, addr}
	}
	return l, err
}

// SameMachine is that a host has the address at which another is reached.
type SameMachine struct {
	Host string
	Addr netip.Addr
}

func (s *SameMachine) Error() string {
	return fmt.Sprintf("host %s has the address %s itself: both hosts are on one machine", s.Host, s.Addr)
}

// DevicesStep stands in a drawing for whichever device of the host leads to the other.
func (h *Host) DevicesStep() pathspec.Step {
	return pathspec.ProvenBy(pathspec.RuleStep(h.Place, "devices", "the host's own"), h.At+"/devices")
}

// sent names the counter of what all of the host's own devices have sent.
func (h *Host) sent() string { return pathspec.CounterName(h.At, "devices", "tx_bytes") }

// watchSent reads that counter: without loopback and what containers hang on.
func (h *Host) watchSent(ctx context.Context, into driver.Counters) error {
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
	into[h.sent()] = sum
	return nil
}

// LinkWithAddress finds the device with an address where an agent is.
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
	return wire.Link{}, fmt.Errorf("no device there has the address %s", addr)
}
