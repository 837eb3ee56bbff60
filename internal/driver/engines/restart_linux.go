package engines

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/firewall"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/linuxnet"
	"tare/internal/study"
)

// restart is what a path has whose server's engine writes its rules again and starts other proxies while it carries traffic: because it is
// restarted, or because another container takes the place of one.
type restart struct {
	*path
	restarts bool // one of the events is EngineRestart
	proxies  []*renewedProxies
	// Of the published ports: the table that counts what rules translate and what processes of the host accept, and how many connections
	// these had accepted before the last restart, and when the engine answered again, which has written its rules then.
	ports              []linuxnet.Published
	table              string
	accepted, answered map[uint16]uint64
	successor          *successor // nil if the server's container lives on in all events
	old                int        // the process id of the dockerd that was told to end and whose successor has not answered yet; 0 for none
}

// events are those of the path.
func (r *restart) events() (all []driver.Event) {
	elsewhere := map[string]string{}
	for _, w := range r.ports {
		elsewhere[r.acceptedCounter(w.Port)] = dnatCounter(r.b, w.Port)
	}
	if r.restarts && r.config.LiveRestore {
		all = append(all, driver.Event{
			Name: EngineRestart, Elsewhere: elsewhere, Title: "the engine of the server's host is restarted, its containers live on",
			State: r.state, Do: r.do, Happened: r.happened,
		})
	}
	if r.successor != nil {
		all = append(all, r.successor.events(elsewhere)...)
	}
	return all
}

// daemonPrefix begins the name of the counter of a dockerd.
const daemonPrefix = "dockerd_"

// daemonCounter and processCounter name what runs by its process id, as a counter that is 1.
func (r *restart) daemonCounter(pid int) string {
	return pathspec.CounterName(r.b.At, "engine", daemonPrefix+strconv.Itoa(pid))
}

func (r *restart) processCounter(b *box, pid int) string {
	return r.processPrefix(b) + strconv.Itoa(pid)
}

// processPrefix begins the name of the counter of a container's first process.
func (*restart) processPrefix(b *box) string {
	return pathspec.CounterName(b.At, "container", "process_")
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
		return r.renewUsed()
	}
	if err := r.remember(); err != nil {
		return undo, err
	}
	if err := r.begin(); err != nil {
		return undo, err
	}
	return undo, r.over(ctx)
}

// begin tells dockerd to end and to be started again.
func (r *restart) begin() error {
	pid, err := r.b.engine.DaemonPID()
	if err != nil {
		return err
	}
	r.old = pid
	return r.b.engine.Restart()
}

// remember reads what the proxies have used and accepted so far, before they end.
func (r *restart) remember() (err error) {
	for _, p := range r.proxies {
		if _, err := p.value(); err != nil {
			return err
		}
	}
	r.accepted, err = r.acceptedNow()
	return err
}

// renewUsed leaves out what the proxies have used that have accepted connections since.
func (r *restart) renewUsed() error {
	var errs []error
	err := r.readConnections(func(port uint16, accepted, _ uint64) {
		i := slices.IndexFunc(r.proxies, func(p *renewedProxies) bool { return p.port == port })
		if i >= 0 && accepted > r.accepted[port] {
			errs = append(errs, r.proxies[i].renew())
		}
	})
	return errors.Join(append(errs, err)...)
}

// over waits until the engine has been restarted, and finds its proxies.
func (r *restart) over(ctx context.Context) error {
	err := r.b.engine.AwaitRestart(ctx, r.old)
	if err != nil {
		return err
	}
	r.old = 0
	return r.renewed()
}

// renewed finds the proxies of an engine that has written its rules again.
func (r *restart) renewed() (err error) {
	if r.answered, err = r.acceptedNow(); err != nil {
		return err
	}
	for _, p := range r.proxies {
		if err := p.renew(); err != nil {
			return err
		}
	}
	return nil
}

// happened checks that another dockerd runs, and every container as before.
func (r *restart) happened(before, after driver.Counters) error {
	if err := r.otherDaemon(before, after); err != nil {
		return err
	}
	for name := range before {
		if _, still := after[name]; !still && !r.isDaemon(name) { // a counter is there in both
			return fmt.Errorf("%s has ended, and with it the container", name)
		}
	}
	return r.translate(before, after)
}

// isDaemon reports whether a counter is that of a dockerd.
func (r *restart) isDaemon(name string) bool {
	return strings.HasPrefix(name, pathspec.CounterName(r.b.At, "engine", daemonPrefix))
}

// otherDaemon checks that another dockerd runs.
func (r *restart) otherDaemon(before, after driver.Counters) error {
	for name := range before {
		if _, still := after[name]; still && r.isDaemon(name) {
			return fmt.Errorf("%s runs as before", name)
		}
	}
	return nil
}

// translate checks that rules translated the connections, and few of them were accepted by processes of the host.
func (r *restart) translate(before, after driver.Counters) error {
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
	ended := r.successor != nil && r.successor.ended
	if r.old == 0 && !ended {
		return nil
	}
	if reason := r.exitReason(); reason != "" {
		return errors.New(reason)
	}
	if r.old == 0 {
		return errServerEnded
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
	if p.restart.successor != nil { // whose address is not known yet
		for i, w := range n.Ports {
			n.Ports[i].To = netip.AddrPortFrom(netip.Addr{}, w.Port)
		}
	}
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
		missing, err = p.restart.current(t).read(ctx, driver.Counters{})
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

// current is a translation with the addresses that the servers have.
func (r *restart) current(t translation) translation {
	t.ports = slices.Clone(t.ports)
	for i, w := range t.ports {
		for _, b := range r.servers() {
			if b.port == w.port {
				t.ports[i].to = b.address
			}
		}
	}
	return t
}

// servers are the containers of the path on the server's host.
func (r *restart) servers() (all []*box) {
	for _, b := range r.boxes.all {
		if b.side == r.b && b.role == containers.Server {
			all = append(all, b)
		}
	}
	return all
}

// has reports whether a path of the mode that is ordered has an event for which the mode is set up.
func (m mode) has(event string, o driver.Order, c private.Config) bool {
	return slices.Contains(o.Events, event) && slices.Contains(m.events, event) && !c.Sandboxed()
}

// renewable prepares a path of a mode for those of its events in which the engine writes its rules again.
func (p *path) renewable(m mode) {
	replaces := m.has(study.EndpointReplaced, p.order, p.config)
	if !replaces && !p.config.Restarts {
		return
	}
	p.restart = &restart{path: p, restarts: p.config.Restarts}
	if replaces || p.endsWithEngine() {
		p.restart.successor = &successor{restart: p.restart, replaces: replaces}
		p.boxes.adapt = p.restart.successor.adapt
	}
}

// endsWithEngine reports whether the containers end when the engine is restarted, and start again with it.
func (p *path) endsWithEngine() bool { return p.config.Restarts && !p.config.LiveRestore }
