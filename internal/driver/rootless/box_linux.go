package rootless

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"

	"tare/internal/driver/daemon"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/procpath"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// sandbox is one end behind its program.
type sandbox struct {
	sandboxConfig
	at pathspec.Place
}

// box makes the sandbox of a pair and its program, and publishes its port.
func (p *path) box(ctx context.Context, h *lab.Host, host pathspec.Place, role string, pair int, publish bool) (sandbox, error) {
	if pair > 1 {
		role += strconv.Itoa(pair)
	}
	ns, err := p.Sandbox(host.At, role)
	if err != nil {
		return sandbox{}, err
	}
	net := lab.NetA
	if h == p.OnLab.B {
		net = lab.NetB
	}
	s := sandbox{at: procpath.NamespacePlace(ns, host.At, host.At+"/"+role)}
	s.sandboxConfig = sandboxConfig{space: ns, address: p.OnLab.Addresses(net, p.prog.guest())[0], gateway: p.OnLab.Addresses(net, 2)[0].Addr(), mtu: p.mtu}
	if publish {
		s.public = netip.AddrPortFrom(h.Addr[0], port(pair))
	}
	proc, err := daemon.Program{
		Name: p.prog.name() + " of sandbox " + s.at.At, Run: p.OnLab.Spec.Claim.ID, Path: p.prog.path, Args: p.prog.args(s.sandboxConfig),
		Binds: map[string]string{filepath.Base(netns): ns.Path()}, Start: h.NS.Start,
	}.Launch()
	if err != nil {
		return s, err
	}
	p.AddProcess(proc)
	if err := proc.WaitFor(ctx, readyWithin, "give the sandbox its device", s.connected); err != nil {
		return s, err
	}
	if err := errors.Join(ns.SetAlias(p.OnLab.Device(tap, 0)), ns.SetMTU(tap, p.mtu), p.OnLab.SetUpDevice(ns, tap)); err != nil {
		return s, err
	}
	if publish {
		if err := p.prog.publish(ctx, proc, s.sandboxConfig); err != nil {
			return s, err
		}
		if err := proc.WaitFor(ctx, readyWithin, "listen at the published port", func() error { return listens(h.NS, proc, s.public) }); err != nil {
			return s, err
		}
	}
	return s, p.MustBeBusy(proc, pathspec.CounterName(host.At, p.counts(pair), "run_ns"), pair)
}

// connected is nil when the sandbox has its address and a way out.
func (b sandboxConfig) connected() error {
	up, err := b.space.HasAddress(tap, b.address.Addr())
	if err == nil && !up {
		err = fmt.Errorf("%s has no address %s yet", tap, b.address.Addr())
	}
	return err
}

// listens is nil when it is a process of the program that listens at the published port.
func listens(on *linuxnet.NS, proc *daemon.Process, at netip.AddrPort) error {
	who, err := on.Listeners(at.Port())
	if err != nil {
		return err
	}
	family, err := linuxnet.Descendants(proc.PID())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(who, func(pid int) bool { return slices.Contains(family, pid) }) {
		return fmt.Errorf("nobody of it listens at %s", at)
	}
	return nil
}
