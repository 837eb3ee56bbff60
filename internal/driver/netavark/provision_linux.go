package netavark

import (
	"context"

	"tare/internal/driver"
	"tare/internal/driver/bridged"
	"tare/internal/driver/firewall"
	"tare/internal/driver/labdriver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// Probe builds the mode once and removes it again.
func (d Driver) Probe(ctx context.Context, o labdriver.Order) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode in its own lab, with 1 to MaxPairs pairs.
func (Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	row, err := rows().Find("netavark", o.Mode)
	if err != nil {
		return nil, err
	}
	if err := o.CheckOneMachine("netavark chooses hardware addresses"); err != nil {
		return nil, err
	}
	in, err := find(ctx, o.Mode)
	if err != nil {
		return nil, err
	}
	base, err := labdriver.Up(o, "netavark")
	if err != nil {
		return nil, err
	}
	p := &bridged.Path{Path: base}
	p.Program = bridged.Program{Bridge: bridge, Table: firewall.NetavarkTable, Connect: in.connect(p)}
	p.AddDeciding("netavark", in.version+" ("+in.path+")")
	if err := p.Build(ctx, bridged.Inside{Client: row.Build.client, Server: row.Build.server}); err != nil {
		return nil, p.Failed(ctx, err)
	}
	return p.DriverPath(driver.Path{FlushConnections: p.FlushConnections}, p), nil
}

// connect returns how netavark connects the sandbox of a pair.
func (in installed) connect(p *bridged.Path) func(context.Context, *bridged.Side, int) (*linuxnet.NS, error) {
	return func(ctx context.Context, s *bridged.Side, pair int) (*linuxnet.NS, error) {
		name := lab.PairName(s.Role, pair)
		ns, err := p.Sandbox(s.At, name)
		if err != nil {
			return nil, err
		}
		a := attachment{run: p.OnLab.Spec.Claim.ID, name: name, sandbox: ns, gateway: p.Gateway(s), address: p.Address(s, pair).Addr(), mtu: p.OnLab.Spec.MTU}
		if s.Role == "server" {
			a.published = []linuxnet.Published{p.Published(s, pair)}
		}
		return ns, in.setUp(ctx, s.Host, a)
	}
}
