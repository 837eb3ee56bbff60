package engines

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/version"
)

// Probe builds the mode once, including Podmans, and removes it again.
func (d Podman) Probe(ctx context.Context, o labdriver.Order) error {
	m, err := modeFor("podman", podmanModes(), o.Order)
	if err == nil {
		_, err = podmanFor(ctx, m, o)
	}
	if err != nil {
		return err
	}
	o.Lab.Pin = true
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode with its own lab and Podmans, with 1 to MaxPairs pairs.
func (Podman) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	m, err := modeFor("podman", podmanModes(), o.Order)
	if err == nil {
		err = cmp.Or(o.CheckPairs(), checkLimitable(m, o))
	}
	if err != nil {
		return nil, err
	}
	c, err := podmanFor(ctx, m, o)
	if err != nil {
		return nil, err
	}
	p := newPath(o, private.Config{}, parallelExchanges, joinWait())
	return p.provision(ctx, m, o, func() error { return p.startPodmans(ctx, m.engines, c) })
}

// checkLimitable rejects limits on an endpoint that is not in a container, or whose container an
// ordinary user's Podman cannot limit.
func checkLimitable(m mode, o labdriver.Order) error {
	none := study.Limit{}
	if o.Limits.Client != none && (m.raw.Client || m.rootless) || o.Limits.Server != none && (m.raw.Server || m.rootless) {
		return &driver.Unsupported{Mode: o.Mode, Reason: "limits are applied by Podman to containers, for root only; leave them out for host processes and for an ordinary user's containers"}
	}
	return nil
}

// podmanFor returns the Podman for a mode.
func podmanFor(ctx context.Context, m mode, o labdriver.Order) (private.Podman, error) {
	for key := range o.Options {
		if key != optionBackend || !m.options {
			return private.Podman{}, fmt.Errorf("provision %s: unknown option %s; the modes podman/bridge and podman/published have the option %s", o.Mode, key, optionBackend)
		}
	}
	lacking := func(reason string) error { return &driver.Unsupported{Mode: o.Mode, Reason: reason} }
	if c, err := private.DescribePodman(ctx); err == nil && version.AtLeast(c.Version, "6.0") && slices.Contains(m.programs, slirp4netns) {
		return c, lacking(fmt.Sprintf("Podman %s (%s) has no network slirp4netns, which ended with version 5; use podman/rootless-pasta", c.Version, c.Path))
	}
	c, err := private.FindPodman(ctx, o.Options[optionBackend], m.programs...)
	if ctx.Err() != nil {
		return c, ctx.Err() // interrupted, which does not tell whether it can be used
	}
	if err != nil {
		return c, lacking(err.Error())
	}
	if c.Backend == private.BackendCNI && o.Lab.MTU != 0 && o.Lab.MTU != lab.DefaultMTU {
		return c, lacking(fmt.Sprintf("the default network of the backend cni has an MTU of %d; leave out the option or the MTU of the lab", lab.DefaultMTU))
	}
	if !m.rootless {
		return c, nil
	}
	c.User = private.OrdinaryUser
	if slices.Contains(m.programs, pastaProgram) && version.Older(c.Version, "4.4") {
		return c, lacking(fmt.Sprintf("Podman %s (%s) has no network pasta; install 4.4 or newer", c.Version, c.Path))
	}
	if err := linuxnet.CheckTUN(); err != nil {
		return c, lacking(err.Error())
	}
	return c, nil
}

// parallelExchanges is the maximum number of pairs whose agents start at the same time: Podman starts
// several programs for each agent, and with more of them agents would exceed the time limits of their
// start.
const parallelExchanges = 8

// userModePath is a path whose servers are behind a process on host b.
type userModePath struct {
	*path
	program string // that listens at the published ports
}

func (m userMode) build(ctx context.Context, on *path) error {
	if m.program == pastaProgram {
		return (&userModePath{on, pastaProgram}).pasta(ctx)
	}
	return (&userModePath{on, rootlessport}).slirp(ctx)
}

// slirp: rootlessport connects to the server over the loopback device of its container. slirp4netns, which
// connects the container to the outside, sees nothing of that.
func (p *userModePath) slirp(ctx context.Context) error {
	subnet := p.lab.Addresses(lab.NetB, 0)[0].Masked()
	var known []int // of the containers before
	return p.behindProcess(ctx, "slirp4netns:cidr="+subnet.String(), func(s *box) error {
		p.MustCarryBothAtLeast(s.pair, s.Place, pathspec.Device{Name: lo})
		p.MustBeIdle(s.Place, s.eth())
		all, err := p.helpers(s, slirp4netns)
		if err != nil {
			return err
		}
		idle := slices.DeleteFunc(slices.Clone(all), func(pid int) bool { return slices.Contains(known, pid) })
		if known = all; len(idle) == 0 {
			return fmt.Errorf("find %s of container %s on host %s: it has none of its own", slirp4netns, s.container.Name, s.Host)
		}
		p.AddRules(driver.Rule{Counter: p.watchHelper(s, slirp4netns, idle...), Expect: driver.ProcessIdle})
		return nil
	})
}

// pasta sends packets to the container's device. Its defaults are the address and the gateway of the host's default route, which a lab's host
// does not have.
func (p *userModePath) pasta(ctx context.Context) error {
	own, gateway := p.lab.Addresses(lab.NetB, 15)[0], p.lab.Addresses(lab.NetB, 2)[0].Addr()
	network := fmt.Sprintf("pasta:--ipv4-only,--interface,%s,--address,%s,--netmask,%d,--gateway,%s", eth, own.Addr(), own.Bits(), gateway)
	return p.behindProcess(ctx, network, func(s *box) error {
		p.MustCarryAtLeast(s.pair, s.Place, s.eth(), pathspec.Receives)
		p.idle(s.Place, lo)
		return nil
	})
}

// behindProcess starts the servers on host b on a network, each with a published port at which the
// program listens. inside adds what a container's devices must show.
func (p *userModePath) behindProcess(ctx context.Context, network string, inside func(*box) error) error {
	p.relayedUnderlay()
	return p.ForEachPair(func(pair int) error {
		s, err := p.boxes.run(ctx, p.b, containers.Server, pair, engine.ContainerSpec{Network: network, Publish: publish(portOf(pair))})
		if err != nil {
			return err
		}
		s.port = portOf(pair)
		listener, err := p.listener(s)
		if err != nil {
			return err
		}
		p.AddPair(p.a.end(), s.end(), s.listens(), p.b.address(), s.port)
		counter := p.watchHelper(s, p.program, listener)
		p.AddRules(driver.Rule{Counter: counter, Expect: driver.ProcessBusy, Pair: pair})
		if err := inside(s); err != nil {
			return err
		}
		if pair > 1 {
			return nil
		}
		steps := []pathspec.Step{pathspec.ProcessStep(p.a.Place), p.a.device(eth), p.b.device(eth),
			pathspec.PerPair(proven(p.b.Place, "process", p.program, counter))}
		last := s.ethStep()
		if p.program == rootlessport {
			last = pathspec.PerPair(pathspec.DeviceStep(s.Place, pathspec.Device{Name: lo}))
		}
		p.SetSteps(append(steps, last, s.process())...)
		return nil
	})
}

// listener returns the process that listens at the published port of a container, which must be the
// program, started by this Podman.
func (p *userModePath) listener(s *box) (int, error) {
	own, err := p.helpers(s, p.program)
	if err != nil {
		return 0, err
	}
	pid, _, err := p.b.listener(s.port, own)
	if err == nil && pid == 0 {
		err = fmt.Errorf("find %s at port %d of host %s: it does not listen there", p.program, s.port, s.Host)
	}
	return pid, err
}

// helpers returns the processes of a program that Podman has started for its containers.
func (p *userModePath) helpers(s *box, program string) ([]int, error) {
	pids, err := s.side.processes(func(pid int) bool {
		exe, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		// passt.avx2 is what pasta executes on most CPUs.
		name, _, _ := strings.Cut(filepath.Base(exe), ".")
		return err == nil && (name == program || program == pastaProgram && name == "passt") // else it has just exited
	})
	if err == nil && len(pids) == 0 {
		err = fmt.Errorf("find %s of container %s on host %s: no such process was started", program, s.container.Name, s.Host)
	}
	return pids, err
}

// watchHelper reads the CPU time of processes of a program that serve a container before and after each
// trial. It returns the name of the counter.
func (p *userModePath) watchHelper(s *box, program string, pids ...int) (counter string) {
	counter = pathspec.CounterName(p.b.At, fmt.Sprintf("%s:%d", program, s.port), "run_ns")
	p.ReadRunTime(counter, fmt.Sprintf("%s of port %d on host %s", program, s.port, p.b.At), pids...)
	return counter
}
