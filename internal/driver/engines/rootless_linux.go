package engines

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/timelimit"
)

// tap is the device of RootlessKit's network driver in the engine's network namespace.
const tap = "tap0"

// rootlessConfig completes the configuration of an engine of an ordinary user, and rejects the settings
// of one for other modes.
func rootlessConfig(config *private.Config, m mode, o labdriver.Order) (err error) {
	if !m.rootless {
		if o.Engine.RootlessNet+o.Engine.RootlessPort != "" {
			return fmt.Errorf("the engine of %s runs as root; use rootless_net and rootless_port with docker/rootless or docker/rootless-out", o.Mode)
		}
		return nil
	}
	if config.Firewall == study.FirewallNftables {
		return errors.New("the nftables backend requires a network namespace that forwards before the engine starts, which RootlessKit's does not; leave out firewall: nftables")
	}
	if config.Sandboxed() {
		return fmt.Errorf("the containers of %s run with runc; leave out runtime: %s", o.Mode, config.Runtime)
	}
	config.Rootless, err = config.Installation.RootlessOf(o.Engine, o.MTU)
	return err
}

// rootlessPath is a path through the network of an ordinary user's engine.
type rootlessPath struct {
	*path
	in     *side // the network namespace of the engine
	driver *private.Rootless
}

// enter takes the network namespace of a host's rootless engine as a host of its own: the engine's bridge,
// rules and proxies are there.
func (p *rootlessPath) enter(s *side) error {
	ns, err := s.engine.RootlessNetwork()
	if err != nil {
		return err
	}
	p.spaces = append(p.spaces, ns)
	p.in = &side{namespace: namespaceOf(s.At+"/rootless", s.Host, ns), host: s.host, engine: s.engine, bridge: docker0}
	p.inner = p.in
	if err := errors.Join(p.lab.Prepare(ns), ns.Tuning().Segmentation(tap, p.lab.Spec.Offload)); err != nil {
		return err
	}
	p.AddFacts(result.Deciding(s.At+" network driver", p.driver.Net), result.Deciding(s.At+" port driver", p.driver.Port),
		result.Deciding(s.At+" rootless MTU", strconv.Itoa(p.driver.MTU)))
	return nil
}

func (m rootless) build(ctx context.Context, on *path) error {
	p := &rootlessPath{path: on, driver: on.config.Rootless}
	if m.out {
		return p.outwards(ctx)
	}
	return p.inwards(ctx)
}

// inwards builds the path to servers in containers.
func (p *rootlessPath) inwards(ctx context.Context) error {
	if err := p.enter(p.b); err != nil {
		return err
	}
	to, err := behindPorts(ctx, p.path, p.in)
	if err != nil {
		return err
	}
	for _, s := range to.all {
		p.AddPair(p.a.end(), s.end(), s.listens(), p.b.address(), s.port)
		p.MustCarryAtLeast(s.pair, p.in.Place, s.veth, pathspec.Transmits)
	}
	p.relayedUnderlay()
	p.MustCarryAtLeast(pathspec.AllPairs, p.in.Place, pathspec.Device{Name: docker0}, pathspec.Transmits)
	listener, err := p.portDriver(ctx, to.all)
	if err != nil {
		return err
	}
	inward, err := p.intoContainers(ctx, to)
	if err != nil {
		return err
	}
	s := to.all[0]
	p.SetSteps(slices.Concat([]pathspec.Step{pathspec.ProcessStep(p.a.Place), p.a.device(eth), p.b.device(eth), listener}, inward,
		[]pathspec.Step{p.in.bridgeStep(), s.vethStep(), s.ethStep(), s.process()})...)
	return p.seenByServers(ctx)
}

// intoContainers requires what the port driver does inside: builtin connects to the loopback address
// there, which docker-proxy serves or, without it, a rule translates; the others' packets arrive from the
// network driver's device and are translated.
func (p *rootlessPath) intoContainers(ctx context.Context, to *portServers) ([]pathspec.Step, error) {
	in, builtin := p.in, p.driver.Port == study.RootlessBuiltin
	proxied := builtin && !p.config.NoProxy
	for _, s := range to.all {
		matches, proxy := driver.Connections, driver.ProcessIdle
		if proxied {
			matches, proxy = driver.NoMatch, driver.ProcessBusy
		}
		p.AddRules(driver.Rule{Counter: dnatCounter(in, s.port), Expect: matches, Pair: s.pair})
		if !p.config.NoProxy {
			p.AddRules(driver.Rule{Counter: proxies{in, s.port}.counter(), Expect: proxy, Pair: s.pair})
		}
	}
	if err := (translation{side: in, ports: to.ports()}).watch(ctx, p.path); err != nil {
		return nil, err
	}
	s := to.all[0]
	switch {
	case !builtin:
		p.MustCarryAtLeast(pathspec.AllPairs, in.Place, pathspec.Device{Name: tap}, pathspec.Receives)
		p.idle(in.Place, lo)
		return []pathspec.Step{in.device(tap), s.dnatStep()}, nil
	case proxied:
		p.idle(in.Place, tap)
		p.MustCarryBothAtLeast(pathspec.AllPairs, in.Place, pathspec.Device{Name: lo})
		return []pathspec.Step{in.device(lo), s.proxyStep()}, nil
	default:
		p.idle(in.Place, tap, lo)
		return []pathspec.Step{s.dnatStep()}, nil
	}
}

// outwards builds the path from clients in containers.
func (p *rootlessPath) outwards(ctx context.Context) error {
	if err := p.enter(p.a); err != nil {
		return err
	}
	in := p.in
	var clients []*box
	err := p.ForEachPair(func(pair int) error {
		c, err := p.boxes.onBridge(ctx, in, containers.Client, pair, engine.ContainerSpec{})
		if err != nil {
			return err
		}
		clients = append(clients, c)
		p.AddPair(c.end(), p.b.end(), p.b.address(), p.b.address(), pathspec.ServerChoosesPort)
		p.MustCarryAtLeast(pair, in.Place, c.veth, pathspec.Receives)
		return nil
	})
	if err != nil {
		return err
	}
	p.relayedUnderlay()
	p.MustCarryAtLeast(pathspec.AllPairs, in.Place, pathspec.Device{Name: docker0}, pathspec.Receives)
	p.MustCarryAtLeast(pathspec.AllPairs, in.Place, pathspec.Device{Name: tap}, pathspec.Transmits)
	p.idle(in.Place, lo)
	p.AddRules(driver.Rule{Counter: masqueradeCounter(in), Expect: driver.Connections})
	if err := (translation{side: in, masquerade: clients}).watch(ctx, p.path); err != nil {
		return err
	}
	name := netProgram(p.driver.Net)
	pid, err := p.a.processNamed(name)
	if err != nil {
		return err
	}
	first := clients[0]
	p.SetSteps(first.process(), first.ethStep(), first.vethStep(), in.bridgeStep(), in.masqueradeStep(), in.device(tap),
		p.busyStep(p.a, name, pid, driver.ProcessBusy), p.a.device(eth), p.b.device(eth), pathspec.ProcessStep(p.b.Place))
	return p.seenByServers(ctx)
}

// rootlesskit is the name of RootlessKit's process, which has the port driver builtin and all of
// gvisor-tap-vsock in it.
const rootlesskit = "rootlesskit"

// netProgram returns the name of the process that a network driver runs in.
func netProgram(network string) string {
	if network == study.RootlessGvisor {
		return rootlesskit
	}
	return network
}

// portProgram returns the name of the process that listens on published ports.
func portProgram(r *private.Rootless) string {
	if r.Port == study.RootlessBuiltin {
		return rootlesskit
	}
	return netProgram(r.Net)
}

// listenWait limits how long a port driver may take to listen; pasta looks for new ports each second.
const listenWait = 5 * time.Second

// portDriver requires that the process of the port driver listens on the published ports of host b and
// passes their traffic, and that the network driver's process, if it is another one, does not.
func (p *rootlessPath) portDriver(ctx context.Context, servers []*box) (pathspec.Step, error) {
	var none pathspec.Step
	name := portProgram(p.driver)
	pid := 0
	for _, s := range servers {
		err := eventually(ctx, listenWait, func() (err error) {
			pid, err = p.listener(s.port, name)
			return err
		})
		if ctx.Err() != nil {
			return none, context.Cause(ctx)
		}
		if err != nil && name == study.RootlessPasta {
			err = &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("pasta has not opened port %d within %v, as versions before 2023_12_04 do not (%v); install a newer one, or use another rootless_net", s.port, timelimit.Scaled(listenWait), err)}
		}
		if err != nil {
			return none, err
		}
	}
	p.AddCheck(func() error {
		for _, s := range servers {
			if _, err := p.listener(s.port, name); err != nil {
				return err
			}
		}
		return nil
	})
	if other := netProgram(p.driver.Net); other != name {
		idle, err := p.b.processNamed(other)
		if err != nil {
			return none, err
		}
		p.busyStep(p.b, other, idle, driver.ProcessIdle)
	}
	return p.busyStep(p.b, name, pid, driver.ProcessBusy), nil
}

// listener returns the process that listens on a port of host b, if it is the named one of its engine.
func (p *rootlessPath) listener(port uint16, name string) (int, error) {
	own, err := p.b.processes(func(pid int) bool { return isNamed(pid, name) })
	if err != nil {
		return 0, err
	}
	pid, who, err := p.b.listener(port, own)
	if err == nil && pid == 0 {
		err = fmt.Errorf("find who listens on port %d of host %s: it is not %s, RootlessKit's port driver (processes %v)", port, p.b.At, name, who)
	}
	return pid, err
}

// processNamed finds a process of RootlessKit on a host.
func (s *side) processNamed(name string) (int, error) {
	own, err := s.processes(func(pid int) bool { return isNamed(pid, name) })
	if err == nil && len(own) == 0 {
		err = fmt.Errorf("find the process %s of the engine of host %s: it does not run", name, s.At)
	}
	if err != nil {
		return 0, err
	}
	return own[0], nil
}

// isNamed reports whether a process was started as a program. Some builds of pasta execute a variant
// for the CPU, which keeps the arguments.
func isNamed(pid int, name string) bool {
	args := argsOf(pid)
	if len(args) == 0 {
		return false
	}
	is := filepath.Base(args[0])
	return is == name || is == "docker-"+name || strings.HasPrefix(is, name+".")
}

// busyStep reads the CPU time of a process before and after each trial, requires it to be busy or idle,
// and returns its step.
func (p *rootlessPath) busyStep(s *side, name string, pid int, expect driver.Expect) pathspec.Step {
	counter := pathspec.CounterName(s.At, name, "run_ns")
	p.ReadRunTime(counter, name+" on host "+s.At, pid)
	p.AddRules(driver.Rule{Counter: counter, Expect: expect})
	return proven(s.Place, "process", name, counter)
}

// seenByServers waits until all pairs have exchanged a few bytes, and adds the fact which address of the
// client the first server sees: a process on the path may connect from its own.
func (p *rootlessPath) seenByServers(ctx context.Context) error {
	if err := p.reach.all(ctx, joinWait()); err != nil {
		return err
	}
	first := p.Pairs()[0]
	return p.reach.withAgents(ctx, first, func(client, server *agent.Client) error {
		at := first.Server
		met, err := agent.CheckReachability(ctx, client, server, "tcp", at.Listen[0], at.Dial[0], joinWait())
		if err == nil {
			p.AddFacts(result.Fact{Name: "client address that the server sees", Value: p.ownerOf(met.Seen.Addr(), met.From.Addr())})
		}
		return err
	})
}

// ownerOf describes an address by what has it.
func (p *rootlessPath) ownerOf(seen, client netip.Addr) string {
	text := seen.String()
	switch {
	case seen == client:
		text += " (the client's own)"
	case p.in.hasAddress(docker0, seen):
		text += " (" + docker0 + " of the engine)"
	case p.in.hasAddress(tap, seen):
		text += " (" + tap + " of the engine)"
	case p.lab.Addresses(lab.NetOverlay, 0)[0].Masked().Contains(seen):
		text += " (RootlessKit's network driver)"
	case seen == p.a.host.Addr[0]:
		text += " (host " + p.a.At + ")"
	}
	return text
}

func (s *side) hasAddress(device string, addr netip.Addr) bool {
	has, err := s.ns.Routes().HasAddress(device, addr)
	return err == nil && has
}
