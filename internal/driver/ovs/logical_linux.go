package ovs

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"tare/internal/driver/vswitch"
)

// router is the name of the logical router; the logical switch of a host has that host's name.
const router = "router"

// startCentral starts OVN on a host, and has it translate a network with nothing but the router.
func (p *path) startCentral(ctx context.Context, s *side) error {
	if err := p.central.Start(ctx, s.Programs, s.At, p.OnLab.Spec.Claim.ID, s.host.NS, p.AddProcess); err != nil {
		return err
	}
	return p.central.Set(ctx, "lr-add", router)
}

// applyLogical adds the access rules to the server's logical switch and waits until the switches of both hosts have the
// flows of the logical network.
func (p *path) applyLogical(ctx context.Context, server *side) error {
	if err := p.central.Applied(ctx); err != nil || p.acls == 0 {
		return err
	}
	without, err := server.Flows(ctx, vswitch.Inside)
	if err != nil {
		return err
	}
	acl := func(priority int, match, verdict string) []string {
		return []string{"acl-add", server.At, "to-lport", strconv.Itoa(priority), match, verdict}
	}
	rules := [][]string{acl(1, "ip", "allow-related")}
	for i := range p.acls {
		// An address for documentation (RFC 5737), which no packet has.
		rules = append(rules, acl(1000, fmt.Sprintf("ip4.src == 203.0.113.1 && tcp.dst == %d", i+1), "drop"))
	}
	if err := p.central.Set(ctx, vswitch.Joined(rules...)...); err != nil {
		return err
	}
	if err := p.central.Applied(ctx); err != nil {
		return err
	}
	with, err := server.Flows(ctx, vswitch.Inside)
	if err != nil {
		return err
	}
	if with-without < p.acls {
		return fmt.Errorf("%d access rules became %d flows of the switch of host %s only", p.acls, with-without, server.At)
	}
	p.AddFact("access rules of the server's logical switch", fmt.Sprintf("%d that match nothing, and one that tracks and allows every connection: %d flows more", p.acls, with-without))
	return nil
}

// joinLogical makes a host a chassis of OVN, and gives it a logical switch on the router.
func (p *path) joinLogical(ctx context.Context, s *side) error {
	if err := p.central.Join(ctx, &s.Switch, s.At, p.OnLab.Spec.Claim.ID, s.host.NS, s.host.Addr[0].String(), p.AddProcess); err != nil {
		return err
	}
	port, networks := s.At+"-"+router, addressTexts(p.OnLab.Addresses(p.net(s), gateway))
	return p.central.Set(ctx, vswitch.Joined([]string{"ls-add", s.At},
		append([]string{"lrp-add", router, router + "-" + s.At, p.routerMAC(s)}, networks...),
		[]string{"lsp-add", s.At, port}, []string{"lsp-set-type", port, "router"}, []string{"lsp-set-addresses", port, "router"},
		[]string{"lsp-set-options", port, "router-port=" + router + "-" + s.At})...)
}

// attach gives a sandbox a port on its host's logical switch, and the router as its gateway.
func (p *path) attach(ctx context.Context, s *side, b sandbox, device string) error {
	mac, err := b.ns.Links().HardwareAddr(eth)
	if err != nil {
		return err
	}
	var own []string
	for _, a := range b.own {
		own = append(own, a.Addr().String())
	}
	port := s.At + "-" + device
	if err := p.central.Set(ctx, vswitch.Joined([]string{"lsp-add", s.At, port}, []string{"lsp-set-addresses", port, mac.String() + " " + strings.Join(own, " ")})...); err != nil {
		return err
	}
	if err := s.Set(ctx, "add-port", vswitch.Inside, device, "--", "set", "interface", device, "external_ids:iface-id="+port); err != nil {
		return err
	}
	for _, a := range p.OnLab.Addresses(p.net(s), gateway) {
		if err := b.ns.Routes().DefaultRoute(a.Addr()); err != nil {
			return err
		}
	}
	return nil
}

// gateway is the router's number in the subnets of the sandboxes.
const gateway = 1

// routerMAC is the router's address on a host's logical switch, locally administered.
func (p *path) routerMAC(s *side) string { return fmt.Sprintf("02:00:00:00:00:%02x", int(p.net(s))) }

func addressTexts(all []netip.Prefix) (texts []string) {
	for _, a := range all {
		texts = append(texts, a.String())
	}
	return texts
}
