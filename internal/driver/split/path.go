package split

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/observe/netstack"
	"tare/internal/result"
)

// path joins what the halves have built: what belongs to a host comes from the machine where
// it is real.
func (b *both) path(made []built) (*driver.Path, error) {
	if len(made[0].Pairs) == 0 || len(made[0].Pairs) != len(made[len(made)-1].Pairs) {
		return nil, errors.New("the two hosts have different numbers of endpoints; run the same version of tare on both")
	}
	p := &driver.Path{
		Mode: b.order.Mode, Lost: b.lost, MergesDatagrams: made[0].Merges, Emulated: made[0].Emulated, Underlay: made[0].Underlay,
		Snapshot: b.snapshot, Topology: b.topology, FlushConnections: b.flush, Close: b.close,
		Checks: []func() error{b.check},
	}
	for i, f := range b.halves {
		p.Hosts = append(p.Hosts, driver.Host{Name: f.host.Name, Local: f.host.Machine.Address.Local()})
		for _, r := range made[i].Rules {
			if f.owns(r.Counter) {
				r.Counter = f.rename(r.Counter)
				p.Rules = append(p.Rules, r)
			}
		}
		p.CountersLate = max(p.CountersLate, made[i].Late)
		for _, s := range made[i].Stacks {
			if f.owns(s.Name) {
				p.Stacks = append(p.Stacks, f.stack(s))
			}
		}
		for _, reason := range made[i].Ignored {
			if !slices.Contains(p.IgnoredDropReasons, reason) {
				p.IgnoredDropReasons = append(p.IgnoredDropReasons, reason)
			}
		}
	}
	p.Facts = b.facts(made)
	p.Processes = b.processes(made)
	for i := range made[0].Pairs {
		client, err := b.endpoint(made, func(m built) endpoint { return m.Pairs[i].Client })
		if err != nil {
			return nil, err
		}
		server, err := b.endpoint(made, func(m built) endpoint { return m.Pairs[i].Server })
		if err != nil {
			return nil, err
		}
		p.Pairs = append(p.Pairs, driver.Pair{Client: client, Server: server})
	}
	return p, nil
}

// owns reports whether something belongs to the host of the half, by its name: the host's,
// or one that begins with it.
func (f *half) owns(name string) bool {
	host, _, _ := strings.Cut(name, "/")
	return host == f.side
}

// rename replaces the name of the lab's host by the name of the machine in results. The
// name of a second process of a host is that of the host with #2.
func (f *half) rename(name string) string {
	if rest := strings.TrimPrefix(name, f.side); rest == "" || rest[0] == '/' || rest[0] == '#' {
		return f.host.Name + rest
	}
	return name
}

// endpoint returns an endpoint from the half whose host it belongs to.
func (b *both) endpoint(made []built, of func(built) endpoint) (driver.Endpoint, error) {
	for i, f := range b.halves {
		e := of(made[i])
		if e.Host != f.side {
			continue
		}
		if len(e.Listen) != len(e.Dial) {
			return driver.Endpoint{}, fmt.Errorf("host %s: %s listens at %d addresses and is dialled at %d", f.host.Name, e.Name, len(e.Listen), len(e.Dial))
		}
		return driver.Endpoint{Name: f.rename(e.Name), Host: f.host.Name, Stack: f.rename(e.Stack), Launcher: f.launcher(e.FD), Listen: e.Listen, Dial: e.Dial}, nil
	}
	return driver.Endpoint{}, errors.New("an endpoint is on neither host; run the same version of tare on both")
}

// stack returns a network stack that is read through the half.
func (f *half) stack(s stack) driver.NetworkStack {
	n := driver.NetworkStack{Name: f.rename(s.Name), Shared: s.Shared}
	if s.Reads {
		n.Read = func(ctx context.Context) (netstack.Reading, error) {
			got, err := f.ask(ctx, request{Op: opRead, Stack: s.Name})
			if err != nil || got.Reading == nil {
				return netstack.Reading{}, errors.Join(err, f.missing(got.Reading == nil && err == nil, "a reading"))
			}
			return *got.Reading, nil
		}
	}
	if s.Surveys {
		n.Survey = func(ctx context.Context) (driver.Settings, error) {
			got, err := f.ask(ctx, request{Op: opSurvey, Stack: s.Name})
			if err != nil || got.Settings == nil {
				return driver.Settings{}, errors.Join(err, f.missing(got.Settings == nil && err == nil, "settings"))
			}
			got.Settings.At = n.Name
			return *got.Settings, nil
		}
	}
	if s.Tracks {
		n.ReadTracked = func(ctx context.Context) (t driver.ConnTrack, tracks bool, err error) {
			got, err := f.ask(ctx, request{Op: opTracked, Stack: s.Name})
			if err != nil || got.Tracked == nil {
				return t, false, err
			}
			return *got.Tracked, true, nil
		}
	}
	return n
}

// missing returns the error that a reply lacks what was asked for.
func (f *half) missing(lacks bool, what string) error {
	if !lacks {
		return nil
	}
	return fmt.Errorf("host %s: tare %s replied without %s", f.host.Name, Command, what)
}

// snapshot reads the counters of both halves.
func (b *both) snapshot(ctx context.Context) (driver.Counters, error) {
	all, err := b.each(ctx, opSnapshot)
	if err != nil {
		return nil, err
	}
	out := driver.Counters{}
	for i, f := range b.halves {
		for name, n := range all[i].Counters {
			if f.owns(name) {
				out[f.rename(name)] = n
			}
		}
	}
	return out, nil
}

// topology joins the steps of the two hosts, the client's first.
func (b *both) topology() (result.Topology, error) {
	var t result.Topology
	all, err := b.each(context.Background(), opTopology)
	if err != nil {
		return t, err
	}
	for i, f := range b.halves {
		half := all[i].Topology
		if half == nil {
			return t, f.missing(true, "a topology")
		}
		for _, n := range half.Nodes {
			t.Nodes = append(t.Nodes, f.node(n, fmt.Sprintf("n%d", len(t.Nodes))))
		}
		for _, n := range half.Beside {
			t.Beside = append(t.Beside, f.node(n, fmt.Sprintf("b%d", len(t.Beside))))
		}
	}
	for i := 1; i < len(t.Nodes); i++ {
		t.Edges = append(t.Edges, result.Edge{From: t.Nodes[i-1].ID, To: t.Nodes[i].ID})
	}
	return t, nil
}

// node renames a node of a half.
func (f *half) node(n result.Node, id string) result.Node {
	n.ID, n.Host = id, f.rename(n.Host)
	counters := slices.Clone(n.Counters)
	for i := range counters {
		counters[i] = f.rename(counters[i])
	}
	n.Counters = counters
	return n
}

// flush removes the state of ended connections on both hosts.
func (b *both) flush(ctx context.Context) error {
	_, err := b.each(ctx, opFlush)
	return err
}

// check evaluates the conditions that both halves have beyond their rules.
func (b *both) check() error {
	_, err := b.each(context.Background(), opCheck)
	return err
}

// each sends the same request to all halves at the same time.
func (b *both) each(ctx context.Context, what op) ([2]reply, error) {
	return parallel(ctx, func(ctx context.Context, i int) (reply, error) {
		if i >= len(b.halves) {
			return reply{}, nil
		}
		return b.halves[i].ask(ctx, request{Op: what})
	})
}

// facts joins the facts of the halves: what is the same on both is one fact, and anything
// else is attributed to its host.
func (b *both) facts(made []built) (out []result.Fact) {
	for i, f := range b.halves {
		for _, one := range made[i].Facts {
			if len(made) == 1 || slices.Contains(made[1-i].Facts, one) {
				if !slices.Contains(out, one) {
					out = append(out, one)
				}
				continue
			}
			one.Name = f.host.Name + " " + one.Name
			out = append(out, one)
		}
		if device := b.links[i].Device; len(made) > 1 {
			out = append(out, result.Fact{Name: f.host.Name + " underlay", Value: fmt.Sprintf("macvlan device of %s, MTU %d", device, made[i].linkMTU())})
		}
	}
	return out
}

// linkMTU returns the MTU of the underlay, 0 if the half does not tell.
func (m built) linkMTU() int {
	if m.Underlay == nil {
		return 0
	}
	return m.Underlay.MTU
}

// processes returns a function that returns the processes of the halves on this machine.
func (b *both) processes(made []built) func() []int {
	var here []int
	for i, f := range b.halves {
		if f.host.Machine.Address.Local() {
			here = append(here, made[i].Processes...)
		}
	}
	return func() []int { return here }
}

// lost returns why a half of the path is gone, such as after its connection was cut.
func (b *both) lost() error {
	var errs []error
	for _, f := range b.halves {
		errs = append(errs, f.Err())
	}
	return errors.Join(errs...)
}
