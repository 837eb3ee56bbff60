package cni

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	types100 "github.com/containernetworking/cni/pkg/types/100"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/process"
	"tare/internal/timelimit"
)

// side is a host with the endpoints of one role, which the plugins connect.
type side struct {
	pathspec.Place
	host     *lab.Host
	ns       *linuxnet.NS
	role     string // client or server
	subnets  []netip.Prefix
	conflist conflist
	plugins  *daemon.Exchange
	attached []string // ids of sandboxes
	shared   []device // devices of the host that the first ADD created for all endpoints
	ends     []end
	clock    *driver.SetupClock // that is told how long plugins take for the sandbox timed; nil is none
	timed    string
}

// record tells how long each plugin took, and all together.
func (s *side) record(r reply) {
	for _, t := range r.Took {
		s.clock.Step(t.Command+" "+t.Plugin, t.Took)
		s.clock.Step(t.Command, t.Took)
	}
}

// end is an endpoint.
type end struct {
	pathspec.Place
	ns     *linuxnet.NS
	addrs  []netip.Prefix // IPv4 first
	idle   []string       // other devices of the sandbox
	device string         // with the addresses; empty for a process of the host
	own    []device       // devices of the host that its ADD created, for it alone
}

// addresses returns the endpoint's addresses.
func (e end) addresses() []netip.Addr { return lab.PrefixAddrs(e.addrs) }

// start starts the process that executes a host's plugins, and prepares the host.
func (p *path) start(s *side, open request) error {
	name := "the CNI plugins of host " + s.At
	proc, err := daemon.StartSelf(name, Command, p.OnLab.Spec.Claim.ID, func(cmd *exec.Cmd) error {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID
		// Plugins start other programs, such as iptables, that may be in the user's PATH only.
		cmd.Env = append(cmd.Env, "PATH="+strings.Join(process.SearchPath(), ":"))
		return s.ns.Start(cmd)
	})
	if err != nil {
		return err
	}
	p.AddProcess(proc)
	s.plugins = daemon.NewExchange(proc)
	// Each plugin of a list may use all of its time, in ADD and in the DEL after it failed.
	s.plugins.Timeout = open.Limit*time.Duration(2*len(s.conflist.plugins)) + timelimit.Scaled(10*time.Second)
	var r reply
	if err := s.ask(context.Background(), open, &r); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, text := range r.Plugins {
		p.plugin(text)
	}
	return nil
}

// ask sends a request. When ctx ends, the running plugin is killed.
func (s *side) ask(ctx context.Context, r request, into *reply) error {
	stop := context.AfterFunc(ctx, func() { _ = s.plugins.Send(request{Op: opCancel}) }) // if it has exited, Ask tells
	defer stop()
	if err := s.plugins.Ask(r, into); err != nil {
		return err
	}
	if into.Error != "" {
		return errors.New(into.Error)
	}
	return nil
}

// attach creates the sandbox of a pair and lets the plugins connect it.
func (p *path) attach(ctx context.Context, s *side, pair int) (end, error) {
	name := lab.PairName(s.role, pair)
	ns, err := p.Sandbox(s.At, name)
	if err != nil {
		return end{}, err
	}
	e := end{Place: labdriver.NamespacePlace(ns, s.At, s.At+"/"+name), ns: ns}
	id := lab.Prefix + p.OnLab.Spec.Claim.ID + "-" + p.id + "-" + s.At + "-" + name
	r, a := request{Op: opAdd, ID: id, Namespace: ns.Path(), Capabilities: p.capabilities(s, pair)}, reply{}
	s.attached = append(s.attached, id)
	if err := s.ask(ctx, r, &a); err != nil {
		return e, p.pluginFailed(e.At, s, err)
	}
	p.Clock.SandboxExists(name)
	if s.role == driver.RoleServer && pair == 1 {
		s.clock, s.timed = p.Clock, id
		s.record(a)
	}
	if err := e.read(a.Result); err != nil {
		return e, fmt.Errorf("connect %s: the result of the plugins of %s: %w", e.At, s.conflist.source, err)
	}
	return e, p.appeared(s, &e, pair)
}

// pluginFailed is the error of a failed ADD. What the kernel does not support makes the mode
// unsupported.
func (p *path) pluginFailed(at string, s *side, err error) error {
	err = fmt.Errorf("connect %s with the CNI configuration %s: %w", at, s.conflist.source, err)
	if isUnsupported(err) {
		return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("the kernel lacks what a plugin needs: %v", err)}
	}
	return err
}

// capabilities are the arguments that a container engine passes to plugins that declare these
// capabilities.
func (p *path) capabilities(s *side, pair int) map[string]any {
	type addressRange struct {
		Subnet string `json:"subnet"`
	}
	type mapping struct {
		HostPort      int    `json:"hostPort"`
		ContainerPort int    `json:"containerPort"`
		Protocol      string `json:"protocol"`
	}
	var ranges [][]addressRange
	for _, n := range s.subnets {
		ranges = append(ranges, []addressRange{{n.String()}})
	}
	all := map[string]any{"ipRanges": ranges}
	if p.kind == published {
		at := int(hostPort(pair))
		all["portMappings"] = []mapping{{at, pathspec.FirstPort, "tcp"}, {at, pathspec.FirstPort, "udp"}}
	}
	return all
}

// hostPort is the port of the server's host that is published for a pair.
func hostPort(pair int) uint16 { return uint16(pathspec.FirstPort + pair - 1) } //nolint:gosec // up to MaxPairs

// read reads the addresses of a result, of each family the first.
func (e *end) read(r *types100.Result) error {
	if r == nil {
		return errors.New("there is none")
	}
	for _, want6 := range []bool{false, true} {
		for _, ip := range r.IPs {
			if ip == nil {
				continue
			}
			ones, _ := ip.Address.Mask.Size()
			addr, ok := netip.AddrFromSlice(ip.Address.IP)
			if addr = addr.Unmap(); !ok || addr.Is6() != want6 {
				continue
			}
			e.addrs = append(e.addrs, netip.PrefixFrom(addr, ones))
			break
		}
	}
	if len(e.addrs) == 0 {
		return errors.New("it has no address; give the first plugin an ipam")
	}
	return nil
}

// appeared finds out which devices the plugins have created in an endpoint and on its host.
func (p *path) appeared(s *side, e *end, pair int) error {
	inside, err := e.ns.Links().Devices()
	if err != nil {
		return err
	}
	if e.device, err = e.ns.Links().DeviceWith(e.addrs[0].Addr()); err != nil {
		return fmt.Errorf("the plugins of %s returned an address that the endpoint lacks: %w", s.conflist.source, err)
	}
	e.idle = slices.DeleteFunc(inside, func(d string) bool { return d == e.device })
	outside, err := s.ns.Links().Devices()
	if err != nil {
		return err
	}
	if !slices.Contains(outside, lab.Underlay) {
		return fmt.Errorf("a plugin of %s has taken %s of host %s, which is its only link to the other host; name another device", s.conflist.source, lab.Underlay, s.At)
	}
	peer, err := e.ns.Links().PeerIn(s.ns, e.device)
	if err != nil {
		peer = "" // it is no veth
	}
	for _, name := range outside {
		if slices.Contains(p.seen[s.ns], name) {
			continue
		}
		kind, _, err := s.ns.Links().Describe(name)
		if err != nil {
			return err
		}
		d := device{Device: pathspec.Device{Name: name}, at: s.Place, ns: s.ns, kind: kind, peer: name == peer}
		if pair == 1 && sharedKind(kind) && !d.peer {
			s.shared = append(s.shared, d)
			continue
		}
		d.pair, d.ofClient = pair, s == p.client
		d.Role = lab.PairName(s.role, pair) + "." + kind
		if n := countKind(e.own, kind); n > 0 {
			d.Role += fmt.Sprint(n + 1)
		}
		e.own = append(e.own, d)
	}
	p.seen[s.ns] = outside
	for _, d := range slices.Concat(e.own, s.shared) {
		if err := s.ns.Tuning().Segmentation(d.Name, p.OnLab.Spec.Offload); err != nil {
			return err
		}
	}
	return e.ns.Tuning().Segmentation(e.device, p.OnLab.Spec.Offload)
}

// sharedKind reports whether a device of a kind usually serves all endpoints of a host, and has
// a name that does not depend on one of them.
func sharedKind(kind string) bool { return kind != "veth" && kind != "ifb" && kind != "tuntap" }

func countKind(in []device, kind string) (n int) {
	for _, d := range in {
		if d.kind == kind {
			n++
		}
	}
	return n
}

// detach lets the plugins disconnect the sandboxes, the last first.
func (s *side) detach() error {
	var errs []error
	for _, id := range slices.Backward(s.attached) {
		var r reply
		if err := s.ask(context.Background(), request{Op: opDelete, ID: id}, &r); err != nil {
			errs = append(errs, fmt.Errorf("disconnect %s with the CNI configuration %s: %w", id, s.conflist.source, err))
		}
		if id == s.timed {
			s.record(r)
		}
	}
	s.attached = nil
	return errors.Join(errs...)
}
