package rootless

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/notes"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// sandbox is one end behind its program.
type sandbox struct {
	behind
	at notes.Place
}

// box makes the sandbox of a pair and its program, and publishes its port.
func (p *path) box(ctx context.Context, h *lab.Host, host notes.Place, role string, pair int, publish bool) (sandbox, error) {
	if pair > 1 {
		role += strconv.Itoa(pair)
	}
	ns, err := p.lab.Namespace(host.At + "-" + role)
	if err != nil {
		return sandbox{}, err
	}
	p.own = append(p.own, ns)
	net := lab.NetA
	if h == p.lab.B {
		net = lab.NetB
	}
	s := sandbox{at: place(ns, host.At, host.At+"/"+role)}
	s.behind = behind{space: ns, own: p.lab.Addresses(net, p.prog.guest())[0], gateway: p.lab.Addresses(net, 2)[0].Addr(), mtu: p.mtu}
	if publish {
		s.public = netip.AddrPortFrom(h.Addr[0], port(pair))
	}
	proc, err := daemon.Program{
		Name: p.prog.name() + " of sandbox " + s.at.At, Run: p.lab.Spec.Claim.ID, Path: p.prog.path, Args: p.prog.args(s.behind),
		Binds: map[string]string{filepath.Base(netns): ns.Path()}, Start: h.NS.Start,
	}.Launch()
	if err != nil {
		return s, err
	}
	p.procs = append(p.procs, proc)
	if err := poll(ctx, proc, "give the sandbox its device", s.connected); err != nil {
		return s, err
	}
	if err := errors.Join(ns.Mark(p.lab.Device(tap, 0)), ns.SetMTU(tap, p.mtu), p.lab.Finish(ns, tap)); err != nil {
		return s, err
	}
	if publish {
		if err := p.prog.publish(ctx, proc, s.behind); err != nil {
			return s, err
		}
		if err := poll(ctx, proc, "listen at the published port", func() error { return listens(h.NS, proc, s.public) }); err != nil {
			return s, err
		}
	}
	return s, p.works(host, proc, pair)
}

// connected is nil when the sandbox has its address and a way out.
func (b behind) connected() error {
	up, err := b.space.HasAddress(tap, b.own.Addr())
	if err == nil && !up {
		err = fmt.Errorf("%s has no address %s yet", tap, b.own.Addr())
	}
	return err
}

// listens is nil when it is a process of the program that listens at the published port.
func listens(on *linuxnet.NS, proc *daemon.Process, at netip.AddrPort) error {
	who, err := on.Listeners(at.Port())
	if err != nil {
		return err
	}
	family, err := linuxnet.Below(proc.PID())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(who, func(pid int) bool { return slices.Contains(family, pid) }) {
		return fmt.Errorf("nobody of it listens at %s", at)
	}
	return nil
}

// works has the program's run time read around each trial: what it passes on goes
// through its own memory and shows in no counter of the kernel. Helpers that it has for
// moments do not count.
func (p *path) works(host notes.Place, proc *daemon.Process, pair int) error {
	name := notes.Counter(host.At, p.counts(pair), "run_ns")
	main, err := linuxnet.Children(proc.PID())
	if err == nil && len(main) == 0 {
		err = cmp.Or(proc.Running(), fmt.Errorf("find the process of %s: there is none", proc.Name))
	}
	if err != nil {
		return err
	}
	p.Watch(func(_ context.Context, into driver.Counters) error {
		n, err := linuxnet.RunTime(main[0])
		if err != nil {
			return fmt.Errorf("read how long %s has run: %w", proc.Name, err)
		}
		into[name] = n
		return nil
	})
	p.Must(driver.Rule{Counter: name, Expect: driver.Works, Pair: pair})
	return nil
}
