package engines

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/firewall"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/linuxnet"
)

// restart is what a path has whose server's engine can be restarted while it carries traffic. An engine then writes its rules again, and
// starts other proxies.
type restart struct {
	*path
	proxies []*renewedProxies
	table   string // of tare, which counts what rules translate; empty until there is one
	old     int    // the process id of the dockerd that was told to end and whose successor has not answered yet; 0 for none
}

// event is the event in which dockerd is restarted. Containers live on: with an engine that ends them, the endpoints would end too.
func (r *restart) event() driver.Event {
	elsewhere := map[string]string{}
	for _, p := range r.proxies {
		elsewhere[p.acceptedCounter()] = dnatCounter(p.side, p.port)
	}
	return driver.Event{
		Name: EngineRestart, Elsewhere: elsewhere, Title: "the engine of the server's host is restarted, its containers live on",
		State: r.state, Do: r.do, Happened: r.happened,
	}
}

// daemonCounter and processCounter name what runs by its process id, as a counter that is 1.
func (r *restart) daemonCounter(pid int) string {
	return pathspec.CounterName(r.b.At, "engine", "dockerd_"+strconv.Itoa(pid))
}

func (r *restart) processCounter(b *box, pid int) string {
	return pathspec.CounterName(b.At, "container", "process_"+strconv.Itoa(pid))
}

// state reads which dockerd runs, and what it says of the first processes of the containers.
func (r *restart) state(ctx context.Context) (driver.Counters, error) {
	pid, err := r.b.engine.DaemonPID()
	if err != nil {
		return nil, err
	}
	out := driver.Counters{r.daemonCounter(pid): 1}
	for _, b := range r.boxes.all {
		if b.side != r.b {
			continue
		}
		s, err := b.container.State(ctx)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return nil, err
		}
		if s.Running {
			out[r.processCounter(b, s.PID)] = 1
		}
	}
	return out, r.readConnections(func(p *renewedProxies, accepted, translated uint64) {
		out[p.acceptedCounter()], out[p.translatedCounter()] = accepted, translated
	})
}

// readConnections reads how many connections the proxies of each port have accepted, and the rules have translated.
func (r *restart) readConnections(each func(p *renewedProxies, accepted, translated uint64)) error {
	if len(r.proxies) == 0 {
		return nil
	}
	counts, err := r.b.ns.Rules().Counts(r.table)
	if err != nil {
		return err
	}
	for _, p := range r.proxies {
		each(p, counts[linuxnet.CountAcceptedAt(p.port)].Packets, counts[linuxnet.CountDNATOf(p.port)].Packets)
	}
	return nil
}

// do restarts the engine. The undo of a restart that was not over waits for its end: the next trial must find the engine.
func (r *restart) do(ctx context.Context) (undo func(context.Context) error, err error) {
	undo = func(ctx context.Context) error {
		if r.old != 0 {
			if err := r.over(ctx); err != nil {
				return err
			}
		}
		var errs []error
		err := r.readConnections(func(p *renewedProxies, accepted, _ uint64) {
			if accepted > p.accepted {
				errs = append(errs, p.renew())
			}
		})
		return errors.Join(append(errs, err)...)
	}
	for _, p := range r.proxies {
		if _, err := p.value(); err != nil {
			return undo, err
		}
	}
	if err := r.readConnections(func(p *renewedProxies, accepted, _ uint64) { p.accepted = accepted }); err != nil {
		return undo, err
	}
	pid, err := r.b.engine.DaemonPID()
	if err != nil {
		return undo, err
	}
	r.old = pid
	if err := r.b.engine.Restart(); err != nil {
		return undo, err
	}
	return undo, r.over(ctx)
}

// over waits until the engine has been restarted, and finds its proxies.
func (r *restart) over(ctx context.Context) error {
	if err := r.b.engine.AwaitRestart(ctx, r.old); err != nil {
		return err
	}
	for _, p := range r.proxies {
		if err := p.renew(); err != nil {
			return err
		}
	}
	r.old = 0
	return nil
}

// happened checks that another dockerd runs, and every container as before.
func (r *restart) happened(before, after driver.Counters) error {
	daemon := strings.TrimSuffix(r.daemonCounter(0), "0")
	for name := range before {
		_, still := after[name]
		is := strings.HasPrefix(name, daemon)
		switch {
		case is && still:
			return fmt.Errorf("%s runs as before", name)
		case !is && !still: // a counter is there in both
			return fmt.Errorf("%s has ended, and with it the container", name)
		}
	}
	for _, p := range r.proxies {
		accepted, translated := p.acceptedCounter(), p.translatedCounter()
		n, of := after[accepted]-before[accepted], after[translated]-before[translated]
		if n > mostAccepted+of/mostAccepted {
			return fmt.Errorf("the rules of port %d translated %d connections, and %s accepted %d", p.port, of, proxyProgram, n)
		}
	}
	return nil
}

// mostAccepted is how many connections proxies may accept after a restart, and of how many more connections that rules translate they may
// accept one each: more show that the rules are not in effect.
const mostAccepted = 10

// lost says why the path can carry no further trial: the engine has not come back.
func (r *restart) lost() error {
	if r.old == 0 {
		return nil
	}
	if reason := r.exitReason(); reason != "" {
		return errors.New(reason)
	}
	return fmt.Errorf("the engine on host %s has not come back from its restart", r.b.Host)
}

// renewedProxies is the CPU time of the proxies of a port, which are others after a restart. It goes on where that of the ones before
// ended: what they use while the engine starts is not traffic. Those of a current engine accept a few connections after a restart that its
// rules do not translate. These are counted, and the CPU time that the proxies then use in the trial is left out.
type renewedProxies struct {
	proxies
	pids        []int
	sum, offset uint64 // of the last reading, ns
	accepted    uint64 // how many connections they had accepted before the last restart
}

// acceptedCounter and translatedCounter name the counters of the connections that the proxies have accepted and that rules have translated.
func (p *renewedProxies) acceptedCounter() string {
	return pathspec.CounterName(p.side.At, fmt.Sprintf("%s:%d", proxyProgram, p.port), "accepted_connections")
}

func (p *renewedProxies) translatedCounter() string {
	return pathspec.CounterName(p.side.At, fmt.Sprintf("rules:%d", p.port), "translated_connections")
}

// value reads it.
func (p *renewedProxies) value() (uint64, error) {
	n, err := p.read()
	if err == nil {
		p.sum = p.offset + n
	}
	return p.sum, err
}

func (p *renewedProxies) read() (sum uint64, err error) {
	for _, pid := range p.pids {
		n, err := linuxnet.CPUTime(pid)
		if err != nil {
			return 0, fmt.Errorf("read the CPU time of %s of port %d on host %s: %w", proxyProgram, p.port, p.side.At, err)
		}
		sum += n
	}
	return sum, nil
}

// renew finds the proxies again.
func (p *renewedProxies) renew() (err error) {
	if p.pids, err = p.running(); err != nil {
		return err
	}
	n, err := p.read()
	p.offset = p.sum - n // it may wrap around, and back when n is added
	return err
}

// watchRenewed is watch for proxies that an engine may replace.
func (r *restart) watchRenewed(x proxies, pids []int) {
	p := &renewedProxies{proxies: x, pids: pids}
	r.proxies = append(r.proxies, p)
	r.AddReader(func(_ context.Context, into driver.Counters) (err error) {
		into[x.counter()], err = p.value()
		return err
	})
}

// watchRenewed is watch for rules that an engine may write again, with which their counters begin again: a table of tare counts what they
// translate. Each rule must be there nevertheless.
func (t translation) watchRenewed(ctx context.Context, p *path) error {
	n := t.count(firewall.CountingTable(p.lab.Spec.Claim.ID))
	if err := n.Count(); err != nil {
		return err
	}
	p.restart.table = n.Table
	var ports []uint16
	for _, x := range p.restart.proxies {
		ports = append(ports, x.port)
	}
	if err := n.NS.Rules().CountAccepted(n.Table, ports...); err != nil {
		return err
	}
	return p.WatchRules(ctx, func(ctx context.Context, into driver.Counters) (missing string, err error) {
		missing, err = t.read(ctx, driver.Counters{})
		if err != nil || missing != "" {
			return missing, err
		}
		counts, err := n.NS.Rules().Counts(n.Table)
		for _, w := range n.Ports {
			into[dnatCounter(t.side, w.Port)] = counts[linuxnet.CountDNATOf(w.Port)].Packets
		}
		return "", err
	})
}

// canRestart reports whether the engine of the server's host can be restarted on a path of the mode that is ordered, and is to be.
func (m mode) canRestart(o driver.Order, sandboxed bool) bool {
	return slices.Contains(o.Events, EngineRestart) && slices.Contains(m.events, EngineRestart) && !sandboxed
}
