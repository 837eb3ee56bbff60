package split

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tare/internal/agent/transport"
	"tare/internal/agent/wire"
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
)

// build builds what is ordered.
func (s *server) build(c call) reply {
	o := c.Order
	switch {
	case o == nil:
		return errorReply(errors.New("the request has no order"))
	case s.made != nil:
		return errorReply(errors.New("a mode is built already"))
	case o.Slot < 0 || o.Slot >= lab.Slots:
		return errorReply(fmt.Errorf("there is no address slot %d", o.Slot))
	case o.Kind != buildAlone && (len(o.Seed) != lab.SeedBytes || o.Side != lab.SideA && o.Side != lab.SideB):
		return errorReply(errors.New("the order does not say how the lab is split"))
	}
	claim, err := lab.ClaimSlot(s.run, o.Slot)
	if err != nil {
		return errorReply(err)
	}
	p, err := s.provision(c.ctx, *o, claim, func(ctx context.Context) error { return s.meet(ctx, c) })
	if err != nil {
		claim.Release()
		return errorReply(err)
	}
	s.made = &made{p, claim}
	described, err := describe(p)
	if c.ctx.Err() != nil {
		err = context.Cause(c.ctx)
	}
	if err != nil {
		return errorReply(errors.Join(err, s.close(context.WithoutCancel(c.ctx))))
	}
	return reply{Built: &described}
}

// meet tells the controller that this half waits for the other, and waits until it may go on.
func (s *server) meet(ctx context.Context, c call) error {
	if err := wire.Write(s.out, reply{ID: c.ID, Meet: true}); err != nil {
		return err
	}
	select {
	case <-c.met:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// provision builds the path of an order.
func (s *server) provision(ctx context.Context, o order, claim lab.Claim, meet func(context.Context) error) (*driver.Path, error) {
	on := lab.Spec{Claim: claim, Label: o.Label, MTU: o.LinkMTU, Offload: true}
	if o.Kind != buildAlone {
		on.Link = &lab.Link{Side: o.Side, Parent: o.Parent, Seed: o.Seed, IPv6: o.IPv6, Meet: meet}
	}
	if o.Kind == buildHosts {
		return hosts(on)
	}
	spec := labdriver.SpecOn(on, driver.Order{Mode: o.Mode, Name: o.Name, Pairs: o.Pairs, MTU: o.MTU, With: o.With})
	i := slices.IndexFunc(s.drivers, func(d labdriver.Driver) bool {
		return slices.ContainsFunc(d.Modes(), func(m driver.Mode) bool { return m.ID == o.Mode })
	})
	if i < 0 {
		return nil, fmt.Errorf("no driver builds mode %q", o.Mode)
	}
	p, err := s.drivers[i].Provision(ctx, spec)
	if err != nil {
		return nil, s.explain(ctx, s.drivers[i], spec, err)
	}
	if o.Kind == buildAlone {
		return p, nil
	}
	return s.onLink(p, o), nil
}

// explain replaces the error of a mode that cannot be built by what this machine lacks, if
// that is why.
func (s *server) explain(ctx context.Context, d labdriver.Driver, o labdriver.Order, err error) error {
	var link *lab.LinkError
	if _, known := driver.AsUnsupported(err); known || errors.As(err, &link) || ctx.Err() != nil {
		return err
	}
	probed := d.Probe(ctx, labdriver.Order{Order: driver.Order{Mode: o.Mode}})
	if _, lacks := driver.AsUnsupported(probed); lacks {
		return probed
	}
	return err
}

// hosts builds a lab without a mode: two processes, each on its host.
func hosts(on lab.Spec) (*driver.Path, error) {
	l, err := lab.Up(on)
	if err != nil {
		return nil, err
	}
	end := func(h *lab.Host) driver.Endpoint {
		return driver.Endpoint{Name: h.Name, Host: h.Name, Stack: h.Name, Launcher: transport.Local{Start: h.NS.Start, Namespace: h.NS.Path()}}
	}
	server := end(l.B)
	server.Listen = pathspec.WithPort(l.B.Addr, pathspec.ServerChoosesPort)
	server.Dial = server.Listen
	return &driver.Path{Pairs: []driver.Pair{{Client: end(l.A), Server: server}}, Close: func(context.Context) error { return l.Close() }}, nil
}

// describe returns the data of a path.
func describe(p *driver.Path) (built, error) {
	b := built{Rules: p.Rules, Merges: p.MergesDatagrams, Ignored: p.IgnoredDropReasons, Facts: p.Facts, Emulated: p.Emulated, Underlay: p.Underlay, Late: p.CountersLate}
	if p.Processes != nil {
		b.Processes = p.Processes()
	}
	for _, one := range p.Pairs {
		client, err := describeEndpoint(one.Client)
		if err != nil {
			return b, err
		}
		server, err := describeEndpoint(one.Server)
		if err != nil {
			return b, err
		}
		b.Pairs = append(b.Pairs, pair{client, server})
	}
	for _, n := range p.Stacks {
		b.Stacks = append(b.Stacks, stack{Name: n.Name, Shared: n.Shared, Reads: n.Read != nil, Surveys: n.Survey != nil, Tracks: n.ReadTracked != nil})
	}
	return b, nil
}

// describeEndpoint returns the data of an endpoint. Its agent is started by another process,
// in the namespace that this one has open.
func describeEndpoint(e driver.Endpoint) (endpoint, error) {
	out := endpoint{Name: e.Name, Host: e.Host, Stack: e.Stack, Listen: e.Listen, Dial: e.Dial}
	l, ok := e.Launcher.(transport.Local)
	number := l.Namespace[strings.LastIndexByte(l.Namespace, '/')+1:]
	fd, err := strconv.Atoi(number)
	if !ok || err != nil {
		return out, fmt.Errorf("the endpoint %s is not in a network namespace", e.Name)
	}
	out.FD = fd
	return out, nil
}
