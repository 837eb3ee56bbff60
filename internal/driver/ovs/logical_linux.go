package ovs

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tare/internal/driver/daemon"
	"tare/internal/timelimit"
)

// The files of OVN in the /run of its processes.
const (
	northFile = "ovnnb.db"
	southFile = "ovnsb.db"
)

// router is the name of the logical router; the logical switch of a host has that host's name.
const router = "router"

// logical are the programs of an installed OVN.
type logical struct {
	northd, controller, nbctl string // ovn-northd, ovn-controller and ovn-nbctl
	north, south              string // schema files of its databases
	version                   string
}

// find locates OVN.
func (l *logical) find(ctx context.Context) error {
	return suite{
		install:  "install OVN (Debian: apt-get install ovn-central ovn-host); its services do not have to run",
		share:    "ovn",
		programs: map[string]*string{"ovn-northd": &l.northd, "ovn-controller": &l.controller, "ovn-nbctl": &l.nbctl},
		schemas:  map[string]*string{"ovn-nb.ovsschema": &l.north, "ovn-sb.ovsschema": &l.south},
		version:  &l.version, says: "ovn-controller", words: "ovn-controller ",
	}.find(ctx)
}

// central is what OVN has once for all hosts: both databases, and ovn-northd, which compiles logical switches and
// routers into flows. It is on host a. All reach it through a socket in the file system, so that nothing of it is on
// the underlay.
type central struct {
	logical
	db, compiler *daemon.Process // ovsdb-server and ovn-northd
}

// startCentral starts it and has ovn-northd translate an empty network.
func (p *path) startCentral(ctx context.Context, s *side) error {
	l := p.central.logical
	databases := map[string]string{}
	for file, schema := range map[string]string{northFile: l.north, southFile: l.south} {
		text, err := s.database(ctx, p.OnLab.Spec.Claim.ID, schema)
		if err != nil {
			return err
		}
		databases[file] = text
	}
	var err error
	if p.central.db, err = s.serve(ctx, s.At, p.OnLab.Spec.Claim.ID, s.host.NS, databases, p.AddProcess); err != nil {
		return err
	}
	at := "unix:" + socketOf(p.central.db)
	northd := daemon.Program{
		Name: "ovn-northd", Run: p.OnLab.Spec.Claim.ID, Path: l.northd, Env: ovnEnvironment("/run"), Start: s.host.NS.Start,
		Args: append([]string{"--ovnnb-db=" + at, "--ovnsb-db=" + at, "--unixctl=/run/ovn-northd.ctl"}, quiet()...),
	}
	if p.central.compiler, err = northd.Launch(); err != nil {
		return err
	}
	p.AddProcess(p.central.compiler)
	return p.central.set(ctx, "lr-add", router)
}

// ovnEnvironment is the environment of a program of OVN. It looks for the sockets of Open vSwitch in a directory.
func ovnEnvironment(switches string) []string {
	return append([]string{"OVS_RUNDIR=" + switches, "OVN_RUNDIR=/run", "OVN_DBDIR=/run", "OVN_LOGDIR=/run", "OVN_SYSCONFDIR=/run"}, environment()[1:]...)
}

// hvTimeout limits how long all hosts may take to apply a change of the logical network, on a real CPU.
const hvTimeout = 20 * time.Second

// set configures the logical network with ovn-nbctl.
func (c *central) set(ctx context.Context, args ...string) error {
	_, err := run(ctx, c.nbctl, append([]string{"--db=unix:" + socketOf(c.db), "--timeout=" + strconv.Itoa(int(timelimit.Scaled(setTimeout).Seconds()))}, args...)...)
	return err
}

// applyLogical adds the access rules to the server's logical switch and waits until the switches of both hosts have the
// flows of the logical network.
func (p *path) applyLogical(ctx context.Context, server *side) error {
	if err := p.central.applied(ctx); err != nil || p.acls == 0 {
		return err
	}
	without, err := server.flows(ctx)
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
	if err := p.central.set(ctx, joined(rules...)...); err != nil {
		return err
	}
	if err := p.central.applied(ctx); err != nil {
		return err
	}
	with, err := server.flows(ctx)
	if err != nil {
		return err
	}
	if with-without < p.acls {
		return fmt.Errorf("%d access rules became %d flows of the switch of host %s only", p.acls, with-without, server.At)
	}
	p.AddFact("access rules of the server's logical switch", fmt.Sprintf("%d that match nothing, and one that tracks and allows every connection: %d flows more", p.acls, with-without))
	return nil
}

// applied waits until the switches of all hosts have the flows of the logical network, or ovn-northd has ended.
func (c *central) applied(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.compiler.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	_, err := runFor(ctx, hvTimeout, c.nbctl, "--db=unix:"+socketOf(c.db), "--wait=hv", "sync")
	if err != nil {
		return fmt.Errorf("wait until all hosts have applied the logical network: %w", err)
	}
	return nil
}

// joinLogical makes a host a chassis of OVN, and gives it a logical switch on the router.
func (p *path) joinLogical(ctx context.Context, s *side) error {
	own := s.host.Addr[0].String()
	if err := s.set(ctx, "set", "Open_vSwitch", ".", "external_ids:system-id="+s.At, "external_ids:hostname="+s.At,
		"external_ids:ovn-remote=unix:"+socketOf(p.central.db), "external_ids:ovn-bridge="+inside, "external_ids:ovn-bridge-datapath-type=netdev",
		"external_ids:ovn-encap-type="+geneve, "external_ids:ovn-encap-ip="+own); err != nil {
		return err
	}
	program := daemon.Program{
		Name: "ovn-controller of host " + s.At, Run: p.OnLab.Spec.Claim.ID, Path: p.central.controller, Start: s.host.NS.Start,
		Env:  ovnEnvironment(s.sw.RunDir()), // for the bridge's management socket
		Args: append([]string{"unix:" + s.socket()}, quiet()...),
	}
	process, err := program.Launch()
	if err != nil {
		return err
	}
	p.AddProcess(process)
	if err := process.WaitFor(ctx, timelimit.Scaled(readyTimeout), "make "+inside, func() error {
		_, err := os.Stat(filepath.Join(s.sw.RunDir(), inside+".mgmt"))
		return err
	}); err != nil {
		return err
	}
	port, networks := s.At+"-"+router, addressTexts(p.OnLab.Addresses(p.net(s), gateway))
	return p.central.set(ctx, joined([]string{"ls-add", s.At},
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
	if err := p.central.set(ctx, joined([]string{"lsp-add", s.At, port}, []string{"lsp-set-addresses", port, mac.String() + " " + strings.Join(own, " ")})...); err != nil {
		return err
	}
	if err := s.set(ctx, "add-port", inside, device, "--", "set", "interface", device, "external_ids:iface-id="+port); err != nil {
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

// joined are several commands of ovn-nbctl or ovs-vsctl as one transaction.
func joined(commands ...[]string) (all []string) {
	for _, c := range commands {
		all = append(append(all, "--"), c...)
	}
	return all[1:]
}

func addressTexts(all []netip.Prefix) (texts []string) {
	for _, a := range all {
		texts = append(texts, a.String())
	}
	return texts
}

// flows is how many OpenFlow rules the switch of a host has.
func (v *vswitch) flows(ctx context.Context) (int, error) {
	text, err := run(ctx, v.ofctl, "dump-aggregate", "unix:"+filepath.Join(v.sw.RunDir(), inside+".mgmt"))
	if err != nil {
		return 0, fmt.Errorf("count the flows of %s: %w", inside, err)
	}
	_, count, found := strings.Cut(text, "flow_count=")
	n, err := strconv.Atoi(strings.TrimSpace(count))
	if !found || err != nil {
		return 0, fmt.Errorf("count the flows of %s: unexpected output %.80q", inside, text)
	}
	return n, nil
}
