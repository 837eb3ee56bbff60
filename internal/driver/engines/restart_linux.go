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
	// Of the published ports: the table that counts what rules translate and what processes of the host accept, and how many connections
	// these had accepted before the last restart, and when the engine answered again, which has written its rules then.
	ports              []linuxnet.Published
	table              string
	accepted, answered map[uint16]uint64
	old                int // the process id of the dockerd that was told to end and whose successor has not answered yet; 0 for none
}

// event is the event in which dockerd is restarted. Containers live on: with an engine that ends them, the endpoints would end too.
func (r *restart) event() driver.Event {
	elsewhere := map[string]string{}
	for _, w := range r.ports {
		elsewhere[r.acceptedCounter(w.Port)] = dnatCounter(r.b, w.Port)
	}
	return driver.Event{
		Name: EngineRestart, Elsewhere: elsewhere, Title: "the engine of the server's host is restarted, its containers live on",
		State: r.state, Do: r.do, Happened: r.happened,
	}
}

// daemonPrefix begins the name of the counter of a dockerd.
const daemonPrefix = "dockerd_"

// daemonCounter and processCounter name what runs by its process id, as a counter that is 1.
func (r *restart) daemonCounter(pid int) string {
	return pathspec.CounterName(r.b.At, "engine", daemonPrefix+strconv.Itoa(pid))
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
	return out, r.readConnections(func(port uint16, accepted, translated uint64) {
		out[r.acceptedCounter(port)], out[r.translatedCounter(port)] = accepted, translated
	})
}

// acceptedCounter and translatedCounter name the counters of the connections to a port that processes of the host have accepted and that
// rules have translated.
func (r *restart) acceptedCounter(port uint16) string {
	return pathspec.CounterName(r.b.At, fmt.Sprintf("port:%d", port), "accepted_connections")
}

func (r *restart) translatedCounter(port uint16) string {
	return pathspec.CounterName(r.b.At, fmt.Sprintf("port:%d", port), "translated_connections")
}

// readConnections reads both.
func (r *restart) readConnections(each func(port uint16, accepted, translated uint64)) error {
	counts, err := r.b.ns.Rules().Counts(r.table)
	if err != nil {
		return err
	}
	for _, w := range r.ports {
		each(w.Port, counts[linuxnet.CountAcceptedAt(w.Port)].Packets, counts[linuxnet.CountDNATOf(w.Port)].Packets)
	}
	return nil
}

// acceptedNow reads how many connections processes of the host have accepted at each port.
func (r *restart) acceptedNow() (map[uint16]uint64, error) {
	all := map[uint16]uint64{}
	return all, r.readConnections(func(port uint16, accepted, _ uint64) { all[port] = accepted })
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
		err := r.readConnections(func(port uint16, accepted, _ uint64) {
			i := slices.IndexFunc(r.proxies, func(p *renewedProxies) bool { return p.port == port })
			if i >= 0 && accepted > r.accepted[port] {
				errs = append(errs, r.proxies[i].renew())
			}
		})
		return errors.Join(append(errs, err)...)
	}
	for _, p := range r.proxies {
		if _, err := p.value(); err != nil {
			return undo, err
		}
	}
	if r.accepted, err = r.acceptedNow(); err != nil {
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
	err := r.b.engine.AwaitRestart(ctx, r.old)
	if err != nil {
		return err
	}
	if r.answered, err = r.acceptedNow(); err != nil {
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
	daemon := pathspec.CounterName(r.b.At, "engine", daemonPrefix)
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
	for _, w := range r.ports {
		accepted, translated := r.acceptedCounter(w.Port), r.translatedCounter(w.Port)
		all, of := after[accepted]-before[accepted], after[translated]-before[translated]
		late := after[accepted] - min(after[accepted], r.answered[w.Port])
		if late > mostAccepted+of/mostAccepted || all > 0 && of <= all {
			return fmt.Errorf("the rules of port %d translated %d connections, and processes of host %s accepted %d, %d of them with the rules in place", w.Port, of, r.b.Host, all, late)
		}
	}
	return nil
}

// mostAccepted is how many connections processes of the host may accept once an engine has written its rules, plus one for each mostAccepted that
// rules translate: more show that the rules are not in effect. Nor may they accept as many as rules translate.
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
// ended: what they use while the engine starts is not traffic. Of a current engine, they accept a few connections after a restart that its
// rules do not translate. These are counted, and the CPU time that the proxies then use in the trial is left out.
type renewedProxies struct {
	proxies
	pids        []int
	sum, offset uint64 // of the last reading, ns
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
func (p *renewedProxies) renew() error {
	pids, err := p.running()
	if err != nil {
		return err
	}
	p.pids = pids
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
	p.restart.table, p.restart.ports = n.Table, n.Ports
	var ports []uint16
	for _, w := range n.Ports {
		ports = append(ports, w.Port)
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
