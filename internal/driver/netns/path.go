//go:build linux

package netns

import (
	"context"
	"errors"
	"net/netip"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/linuxnet/redirect"
)

// path is a mode that is set up, with its specification.
type path struct {
	pathspec.Path
	lab    *lab.Lab
	parts  labdriver.PartSet
	mtu    int               // of the sandboxes' devices
	own    []*linuxnet.NS    // sandboxes, in addition to the lab's hosts
	at     [][2]*linuxnet.NS // of client and server, by pair
	tables []place           // namespaces with a nftables table of this path
	checks []func() error    // further conditions of the proof
	netkit bool              // sandboxes have netkit devices in place of veths

	routers []*redirect.Router // of hosts that redirect
}

// Lab returns the lab of the path, for tests that interrupt the path.
func (p *path) Lab() *lab.Lab { return p.lab }

// close removes the sandboxes and the lab, with everything on the lab's hosts: a mode has
// its own lab.
func (p *path) close(context.Context) error {
	var errs []error
	for _, r := range p.routers {
		errs = append(errs, r.Close())
	}
	for _, ns := range p.own {
		errs = append(errs, ns.Close())
	}
	return errors.Join(append(errs, p.lab.Close())...)
}

// sandbox creates a namespace of the path.
func (p *path) sandbox(name string) (*linuxnet.NS, error) {
	ns, err := p.lab.Namespace(name)
	if err != nil {
		return nil, err
	}
	p.own = append(p.own, ns)
	return ns, nil
}

// addPair adds a pair of endpoints.
func (p *path) addPair(client, server place, listen, dial []netip.Addr, port uint16) {
	p.at = append(p.at, [2]*linuxnet.NS{client.ns, server.ns})
	end := func(w place) pathspec.Endpoint {
		return pathspec.Endpoint{Place: w.Place, Launcher: transport.Local{Start: w.ns.Start, Namespace: w.ns.Path()}}
	}
	p.AddPair(end(client), end(server), listen, dial, port)
}

// mustCarry requires that the traffic of a pair, or of all pairs, crosses dev.
func (p *path) mustCarry(pair int, w place, dev string, forward pathspec.Direction) {
	p.MustCarry(pair, w.Place, pathspec.Device{Name: dev}, forward)
}

// mustBeIdle requires that no traffic crosses dev.
func (p *path) mustBeIdle(w place, dev string) { p.MustBeIdle(w.Place, pathspec.Device{Name: dev}) }

// readTableCounters adds the counters of the path's nftables table in a namespace.
func (p *path) readTableCounters(w place) {
	p.tables = append(p.tables, w)
	p.AddReader(func(_ context.Context, c driver.Counters) error {
		counts, err := w.ns.Rules().Counts(table)
		if err != nil {
			return err
		}
		for name, n := range counts {
			c[pathspec.CounterName(w.At, table, name+"_packets")] = n.Packets
			c[pathspec.CounterName(w.At, table, name+"_bytes")] = n.Bytes
		}
		return nil
	})
}

// flushConnections flushes the connection tracking of the gateways on the path.
func (p *path) flushConnections(context.Context) error {
	for _, w := range p.tables {
		if err := w.ns.Rules().FlushConntrack(); err != nil {
			return err
		}
	}
	return nil
}
