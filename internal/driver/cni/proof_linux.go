package cni

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// device is a device that plugins have created on a host.
type device struct {
	pathspec.Device
	at       pathspec.Place
	ns       *linuxnet.NS
	kind     string
	pair     int  // of the endpoint for which it was created; pathspec.AllPairs if it serves all
	ofClient bool // that endpoint is a client
	peer     bool // it is the other end of the endpoint's veth
	// tx and rx are what its counters must show; driver.NoTraffic beside the path.
	tx, rx driver.Expect
}

func (d device) onPath() bool { return d.tx != driver.NoTraffic || d.rx != driver.NoTraffic }

// prove finds out with datagrams which of the devices that appeared are on the path, in which
// direction, and adds rules and steps: what the endpoints' own devices must show is known,
// and what those of the hosts must show is what they showed here.
func (p *path) prove(ctx context.Context) error {
	for pair := 1; pair <= p.PairCount; pair++ {
		var all []*device
		for _, s := range []*side{p.client, p.server} {
			e := &s.ends[pair-1]
			for i := range e.own {
				all = append(all, &e.own[i])
			}
			for i := 0; pair == 1 && i < len(s.shared); i++ {
				all = append(all, &s.shared[i])
			}
		}
		if err := p.explore(ctx, pair, all); err != nil {
			return err
		}
		if pair == 1 {
			if err := p.CheckSizes(ctx, large+headers); err != nil {
				return err
			}
		}
		p.endpointRules(pair)
		for _, d := range all {
			p.ReadDevice(d.at, d.Device)
			p.AddRules(driver.Rule{Counter: d.Counter(d.at, "tx_bytes"), Expect: d.tx, Pair: d.pair, OfClient: d.ofClient},
				driver.Rule{Counter: d.Counter(d.at, "rx_bytes"), Expect: d.rx, Pair: d.pair, OfClient: d.ofClient})
		}
	}
	p.hostRules()
	return p.steps()
}

// endpointRules adds the rules of a pair's sandboxes.
func (p *path) endpointRules(pair int) {
	for _, s := range []*side{p.client, p.server} {
		e := s.ends[pair-1]
		if e.device == "" {
			continue // a process of the host
		}
		p.MustCarry(pair, e.Place, pathspec.Device{Name: e.device}, pathspec.Direction(s.role == "client"))
		for _, d := range e.idle {
			p.MustBeIdle(e.Place, pathspec.Device{Name: d})
		}
	}
}

// hostRules adds the rules of the hosts' own devices.
func (p *path) hostRules() {
	eth, lo := pathspec.Device{Name: lab.Underlay}, pathspec.Device{Name: "lo"}
	if p.kind == colocated {
		p.MustBeIdle(p.client.Place, eth)
		p.MustBeIdle(p.client.Place, lo)
		return
	}
	p.MustCarryAtLeast(pathspec.AllPairs, p.client.Place, eth, pathspec.Transmits)
	p.MustCarryAtLeast(pathspec.AllPairs, p.server.Place, eth, pathspec.Receives)
	p.MustBeIdle(p.client.Place, lo)
	p.MustBeIdle(p.server.Place, lo)
}

// The datagrams that explore a path: together twice what background packets may be.
const (
	explored = 32
	large    = 1200 // fits into the minimum MTU of a lab
	small    = 16
	headers  = 20 + 8 // of IPv4 and UDP
)

// explore sends datagrams from the client of a pair to the server and back, first large ones
// there, then large ones back, and derives from the counters what the devices must show.
func (p *path) explore(ctx context.Context, pair int, all []*device) error {
	p.AddStack(p.client.Place)
	p.AddStack(p.server.Place)
	watch := driver.WatchStacks(ctx, p.Stacks(), p.Pairs())
	if err := p.exploreDevices(ctx, pair, all); err != nil {
		return driver.WithCause(err, watch.Cause(ctx, 0))
	}
	return nil
}

func (p *path) exploreDevices(ctx context.Context, pair int, all []*device) error {
	read := func() (out []linuxnet.LinkStats, err error) {
		for _, d := range all {
			st, err := d.ns.Links().Stats(d.Name)
			if err != nil {
				return nil, err
			}
			out = append(out, st)
		}
		return out, nil
	}
	to := p.Pairs()[pair-1].Server
	for i, dial := range to.Dial {
		if err := p.cross(ctx, pair, to.Listen[i], dial, 1, small, small); err != nil {
			return err
		}
	}
	before, err := read()
	if err != nil {
		return err
	}
	if err := p.cross(ctx, pair, to.Listen[0], to.Dial[0], explored, large, small); err != nil {
		return err
	}
	between, err := read()
	if err != nil {
		return err
	}
	if err := p.cross(ctx, pair, to.Listen[0], to.Dial[0], explored, small, large); err != nil {
		return err
	}
	after, err := read()
	if err != nil {
		return err
	}
	for i, d := range all {
		d.tx = expect(between[i].TxBytes-before[i].TxBytes, after[i].TxBytes-between[i].TxBytes, d.peer)
		d.rx = expect(between[i].RxBytes-before[i].RxBytes, after[i].RxBytes-between[i].RxBytes, d.peer)
	}
	return nil
}

// expect is what a counter must show that moved by these bytes while the datagrams went there
// and came back. Exactly is for devices that see what an endpoint sends.
func expect(there, back uint64, exactly bool) driver.Expect {
	carries := func(n uint64) bool { return n >= explored*large }
	switch {
	case carries(there) && carries(back):
		if exactly {
			return driver.Both
		}
		return driver.BothAtLeast
	case carries(there):
		if exactly {
			return driver.Forward
		}
		return driver.ForwardAtLeast
	case carries(back):
		if exactly {
			return driver.Reverse
		}
		return driver.ReverseAtLeast
	}
	return driver.NoTraffic
}

// steps sets the steps of the path, from the client's side outwards and into the server's.
func (p *path) steps() error {
	near, err := p.inner(p.client)
	if err != nil {
		return err
	}
	far, err := p.inner(p.server)
	if err != nil {
		return err
	}
	slices.Reverse(far)
	p.SetSteps(slices.Concat(near, far)...)
	return nil
}

// inner returns the steps from a side's first endpoint to its host's underlay.
func (p *path) inner(s *side) ([]pathspec.Step, error) {
	e := s.ends[0]
	steps := []pathspec.Step{pathspec.ProcessStep(e.Place)}
	eth := pathspec.DeviceStep(s.Place, pathspec.Device{Name: lab.Underlay})
	if e.device == "" {
		return append(steps, eth), nil
	}
	steps = append(steps, pathspec.PerPair(pathspec.DeviceStep(e.Place, pathspec.Device{Name: e.device})))
	ports, err := s.ns.Links().Ports()
	if err != nil {
		return nil, err
	}
	switched := map[string]bool{} // bridges whose own counters show nothing of what they switch
	for port, bridge := range ports {
		switched[bridge] = switched[bridge] || slices.ContainsFunc(e.own, func(d device) bool { return d.Name == port })
	}
	on := slices.DeleteFunc(slices.Concat(e.own, s.shared), func(d device) bool { return !d.onPath() && !switched[d.Name] })
	slices.SortStableFunc(on, func(a, b device) int { return cmp.Compare(a.rank(), b.rank()) })
	for _, d := range on {
		step := pathspec.DeviceStep(d.at, d.Device)
		if d.pair != pathspec.AllPairs {
			step = pathspec.PerPair(step)
		}
		steps = append(steps, step)
	}
	if p.kind == published {
		steps = append(steps, pathspec.RuleStep(s.Place, "nat", "published port"))
	}
	if routes := p.routed[s]; len(routes) > 0 {
		steps = append(steps, pathspec.RuleStep(s.Place, "route", "route of tare", result.Fact{Name: "routes", Value: strings.Join(routes, "; ")}))
	}
	if p.kind != colocated {
		steps = append(steps, eth)
	}
	return steps, nil
}

// rank orders the devices of a host from the endpoint to the underlay, as far as their kinds
// tell.
func (d device) rank() int {
	switch {
	case d.peer:
		return 0
	case d.pair != pathspec.AllPairs:
		return 1
	case d.kind == "bridge":
		return 2
	}
	return 3
}

// hint is what a failed exchange between two endpoints is likely due to.
func (p *path) hint() string {
	a, b := p.client.ends[0], p.server.ends[0]
	if p.kind == network && len(a.addrs) > 0 && a.addrs[0].Masked() == b.addrs[0].Masked() && !p.onUnderlay(a.addrs[0].Addr()) {
		return fmt.Sprintf("; both hosts assign addresses of %s, and nothing joins the two networks: give each host a subnet of its own, with {{.PodCIDR}} in the conflist, with the capability ipRanges, or with the option %s", a.addrs[0].Masked(), optionOther)
	}
	return ""
}

// onUnderlay reports whether an address is in the underlay's subnet.
func (p *path) onUnderlay(a netip.Addr) bool {
	return slices.ContainsFunc(p.OnLab.Addresses(lab.NetUnderlay, 0), func(n netip.Prefix) bool { return n.Masked().Contains(a) })
}
