package incus

import (
	"context"
	"fmt"
	"strconv"

	"tare/internal/driver"
	"tare/internal/driver/bridged"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/vswitch"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// Probe builds the mode once and removes it again.
func (d Driver) Probe(ctx context.Context, o labdriver.Order) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode in its own lab, with 1 to MaxPairs pairs.
func (Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	row, err := rows().Find("incus", o.Mode)
	if err != nil {
		return nil, err
	}
	if err := o.CheckOneMachine("Incus chooses hardware addresses"); err != nil {
		return nil, err
	}
	in, err := find(ctx, o.Mode)
	if err != nil {
		return nil, err
	}
	var ovn *logical
	if row.Build.logical {
		if ovn, err = findLogical(ctx); err != nil && ctx.Err() == nil {
			err = &driver.Unsupported{Mode: o.Mode, Reason: err.Error()}
		}
		if err != nil {
			return nil, err
		}
	}
	base, err := labdriver.Up(o, "Incus")
	if err != nil {
		return nil, err
	}
	p := &path{Path: bridged.Path{Path: base}, in: in, nat: !row.Build.process, ovn: ovn, servers: map[*lab.Host]*server{}}
	p.Program = bridged.Program{Bridge: bridge, Table: table, Connect: p.connect}
	p.AddDeciding("incus", in.version+" ("+in.daemon+")")
	own := driver.Path{FlushConnections: p.FlushConnections}
	switch {
	case ovn != nil:
		own.IgnoredDropReasons = vswitch.CopiesDropped()
		err = p.buildLogical(ctx)
	case row.Build.process:
		err = p.buildForwarded(ctx)
	default:
		err = p.Build(ctx, bridged.Inside{Client: row.Build.client, Server: true})
	}
	if err != nil {
		return nil, p.Failed(ctx, err)
	}
	return p.DriverPath(own, p), nil
}

// path is a mode that is set up.
type path struct {
	bridged.Path
	in      installed
	nat     bool // rules forward published ports, not a process
	ovn     *logical
	servers map[*lab.Host]*server
}

// server returns the Incus of a side, which it starts and sets up the first time.
func (p *path) server(ctx context.Context, s *bridged.Side) (*server, error) {
	if have := p.servers[s.Host]; have != nil {
		return have, nil
	}
	made, end, err := p.in.start(ctx, p.OnLab, s.Host)
	p.AtClose(end)
	if err != nil {
		return nil, err
	}
	p.AddProcess(made.Process)
	p.servers[s.Host] = made
	uplink := network{Name: bridge, Type: "bridge", Config: settings{
		"ipv4.address": p.Gateway(s).String(), "ipv4.nat": "true", "ipv6.address": "none", "bridge.mtu": strconv.Itoa(p.OnLab.Spec.MTU),
	}}
	if p.ovn == nil {
		return made, made.setUp(ctx, settings{}, uplink)
	}
	router, forward := p.OnLab.Addresses(lab.NetB, routerNumber)[0].Addr().String(), p.OnLab.Addresses(lab.NetB, forwardNumber)[0].Addr().String()
	uplink.Config["ipv4.dhcp"], uplink.Config["ipv4.ovn.ranges"], uplink.Config["ipv4.routes"] = "false", router+"-"+router, forward+"/32"
	config, own := p.ovn.networks(p)
	return made, made.setUp(ctx, config, uplink, own)
}

// connect starts the container of a pair.
func (p *path) connect(ctx context.Context, s *bridged.Side, pair int) (*linuxnet.NS, error) {
	on, err := p.server(ctx, s)
	if err != nil {
		return nil, err
	}
	name, own, gateway, nic := lab.PairName(s.Role, pair), p.Address(s, pair), p.Gateway(s), settings{"type": "nic", "network": bridge, "name": lab.Underlay}
	if p.ovn != nil {
		own, gateway, nic["network"] = p.inOVN(1+pair), p.inOVN(1), ovnNetwork
	}
	nic["ipv4.address"] = own.Addr().String()
	devices := map[string]settings{lab.Underlay: nic}
	if s.Role == "server" && p.ovn == nil {
		to := p.Published(s, pair)
		protocols := []string{"tcp"}
		if p.nat {
			protocols = append(protocols, "udp")
		}
		for _, protocol := range protocols {
			devices[protocol] = settings{"type": "proxy", "nat": strconv.FormatBool(p.nat), "listen": fmt.Sprintf("%s:%s:%d", protocol, s.Host.Addr[0], to.Port), "connect": protocol + ":" + to.To.String()}
		}
	}
	p.Clock.SandboxBegins(name)
	ns, err := on.launch(ctx, name, devices)
	if err != nil {
		return nil, fmt.Errorf("start the container %s/%s: %w", s.At, name, err)
	}
	p.AddSandbox(ns)
	// Its operating system would ask for the address.
	if err := ns.Routes().Address(lab.Underlay, own); err != nil {
		return nil, err
	}
	return ns, ns.Routes().DefaultRoute(gateway.Addr())
}
