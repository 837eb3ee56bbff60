package rootless

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// behindProgram creates the sandbox of a pair and its program, which publishes the port of a
// server.
func (p *path) behindProgram(ctx context.Context, s side, pair int) (endpoint, error) {
	name := lab.PairName(s.role, pair)
	ns, err := p.Sandbox(s.place.At, name)
	if err != nil {
		return endpoint{}, err
	}
	at := labdriver.NamespacePlace(ns, s.place.At, s.place.At+"/"+name)
	b := sandboxConfig{space: ns, address: p.OnLab.Addresses(s.net, p.prog.hostNumber())[0], gateway: p.OnLab.Addresses(s.net, 2)[0].Addr(), mtu: p.mtu}
	if !s.out {
		b.public = netip.AddrPortFrom(s.host.Addr[0], port(pair))
	}
	if err := p.launch(ctx, s, at, b, pair); err != nil {
		return endpoint{}, err
	}
	// The device sends what the sandbox sends.
	p.mustCarry(pair, at, tap, pathspec.Direction(s.out))
	p.mustRest(at)
	counter := s.place.At + "/" + p.counterName(pair)
	return endpoint{at: at, space: ns, address: b.address.Addr(), public: s.host.Addr[0], port: port(pair), steps: []pathspec.Step{
		pathspec.PerPair(pathspec.ProvenBy(pathspec.RuleStep(s.place, "process", p.prog.name()), counter)),
		pathspec.PerPair(pathspec.DeviceStep(at, device(tap))), pathspec.ProcessStep(at),
	}}, nil
}

// launch starts the program of a sandbox and waits until it is ready.
func (p *path) launch(ctx context.Context, s side, at pathspec.Place, b sandboxConfig, pair int) error {
	proc, err := daemon.Program{
		Name: p.prog.name() + " of sandbox " + at.At, Run: p.OnLab.Spec.Claim.ID, Path: p.prog.path, Args: p.prog.args(b),
		Binds: map[string]string{filepath.Base(netns): b.space.Path()}, Start: s.host.NS.Start,
	}.Launch()
	if err != nil {
		return err
	}
	p.AddProcess(proc)
	if err := proc.WaitFor(ctx, readyTimeout(), "create the device of the sandbox", b.connected); err != nil {
		return err
	}
	if err := errors.Join(b.space.Links().SetAlias(p.OnLab.Device(tap, 0)), b.space.Links().SetMTU(tap, p.mtu), p.OnLab.SetUpDevice(b.space, tap)); err != nil {
		return err
	}
	if b.public.IsValid() {
		if err := p.prog.publish(ctx, proc, b); err != nil {
			return err
		}
		if err := proc.WaitFor(ctx, readyTimeout(), "listen on the published port", func() error { return listens(s.host.NS, proc, b.public) }); err != nil {
			return err
		}
	}
	return p.MustBeBusy(proc, driver.Rule{Counter: pathspec.CounterName(s.place.At, p.counterName(pair), "run_ns"), Pair: pair, OfClient: s.out})
}

// connected returns nil if the sandbox has its address and a default route.
func (b sandboxConfig) connected() error {
	up, err := b.space.Routes().HasAddress(tap, b.address.Addr())
	if err == nil && !up {
		err = fmt.Errorf("%s has no address %s yet", tap, b.address.Addr())
	}
	return err
}

// listens returns nil if a process of the program listens on the published port.
func listens(on *linuxnet.NS, proc *daemon.Process, at netip.AddrPort) error {
	who, err := on.Sockets().Listeners(at.Port())
	if err != nil {
		return err
	}
	family, err := linuxnet.Descendants(proc.PID())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(who, func(pid int) bool { return slices.Contains(family, pid) }) {
		return fmt.Errorf("it does not listen at %s", at)
	}
	return nil
}
