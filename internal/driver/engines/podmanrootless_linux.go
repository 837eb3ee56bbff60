package engines

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// slirp: process on a, underlay, rootlessport on b, which connects to the server over the loopback
// device of its container. slirp4netns, which connects the container to the outside, sees nothing of
// that.
func (p *path) slirp(ctx context.Context) error {
	subnet := p.lab.Addresses(lab.NetB, 0)[0].Masked()
	var known []int // of the containers before
	return p.behindProcess(ctx, "slirp4netns:cidr="+subnet.String(), rootlessport, func(s *box) error {
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

// pasta: process on a, underlay, pasta on b, which listens there and sends packets to the container's
// device. Its defaults are the address and the gateway of the host's default route, which a lab's host
// does not have.
func (p *path) pasta(ctx context.Context) error {
	own, gateway := p.lab.Addresses(lab.NetB, 15)[0], p.lab.Addresses(lab.NetB, 2)[0].Addr()
	network := fmt.Sprintf("pasta:--ipv4-only,--interface,%s,--address,%s,--netmask,%d,--gateway,%s", eth, own.Addr(), own.Bits(), gateway)
	return p.behindProcess(ctx, network, pastaProgram, func(s *box) error {
		p.MustCarryAtLeast(s.pair, s.Place, s.eth(), pathspec.Receives)
		p.idle(s.Place, lo)
		return nil
	})
}

// behindProcess starts the servers on host b on a network, each with a published port at which a
// program listens. inside adds what a container's devices must show.
func (p *path) behindProcess(ctx context.Context, network, program string, inside func(*box) error) error {
	p.relayedUnderlay()
	return p.ForEachPair(func(pair int) error {
		s, err := p.run(ctx, p.b, containers.Server, pair, engine.ContainerSpec{Network: network, Publish: publish(portOf(pair))})
		if err != nil {
			return err
		}
		s.port = portOf(pair)
		listener, err := p.podmanListener(s, program)
		if err != nil {
			return err
		}
		p.AddPair(p.a.end(), s.end(), s.listens(), p.b.address(), s.port)
		counter := p.watchHelper(s, program, listener)
		p.AddRules(driver.Rule{Counter: counter, Expect: driver.ProcessBusy, Pair: pair})
		if err := inside(s); err != nil {
			return err
		}
		if pair > 1 {
			return nil
		}
		steps := []pathspec.Step{pathspec.ProcessStep(p.a.Place), p.a.device(eth), p.b.device(eth),
			pathspec.PerPair(proven(p.b.Place, "process", program, counter))}
		last := s.ethStep()
		if program == rootlessport {
			last = pathspec.PerPair(pathspec.DeviceStep(s.Place, pathspec.Device{Name: lo}))
		}
		p.SetSteps(append(steps, last, s.process())...)
		return nil
	})
}

// podmanListener returns the process that listens at the published port of a container, which must be the
// given program, started by this Podman.
func (p *path) podmanListener(s *box, program string) (int, error) {
	own, err := p.helpers(s, program)
	if err != nil {
		return 0, err
	}
	at, err := p.b.ns.Sockets().Listeners(s.port)
	if err != nil {
		return 0, err
	}
	for _, pid := range at {
		if slices.Contains(own, pid) {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("find %s at port %d of host %s: it does not listen there", program, s.port, s.Host)
}

// helpers returns the processes of a program that Podman has started for its containers.
func (p *path) helpers(s *box, program string) (pids []int, err error) {
	all, err := linuxnet.Descendants(s.side.engine.Root())
	if err != nil {
		return nil, err
	}
	for _, pid := range all {
		exe, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		if err != nil {
			continue // it has just exited
		}
		// passt.avx2 is what pasta executes on most CPUs.
		name, _, _ := strings.Cut(filepath.Base(exe), ".")
		if name == program || program == pastaProgram && name == "passt" {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("find %s of container %s on host %s: no such process was started", program, s.container.Name, s.Host)
	}
	return pids, nil
}

// watchHelper reads the CPU time of processes of a program that serve a container before and after each
// trial. It returns the name of the counter.
func (p *path) watchHelper(s *box, program string, pids ...int) (counter string) {
	counter = pathspec.CounterName(p.b.At, fmt.Sprintf("%s:%d", program, s.port), "run_ns")
	p.readRunTime(counter, fmt.Sprintf("%s of port %d on host %s", program, s.port, p.b.At), pids...)
	return counter
}
