//go:build linux

package netns

import (
	"context"
	"errors"
	"net/netip"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// path is a mode that stands, with the notes taken while it was built.
type path struct {
	pathspec.Path
	lab    *lab.Lab
	mtu    int               // that was ordered for the inside of a tunnel; 0 is as much as fits
	own    []*linuxnet.NS    // sandboxes, beside the lab's hosts
	at     [][2]*linuxnet.NS // of client and server, by pair
	tables []place           // where there is a nftables table of ours
}

// Lab is the lab that the path is on, for tests that cut across it.
func (p *path) Lab() *lab.Lab { return p.lab }

// close takes the sandboxes and the lab down. What is on the lab's hosts goes with
// them: a mode has its lab to itself.
func (p *path) close(context.Context) error {
	var errs []error
	for _, ns := range p.own {
		errs = append(errs, ns.Close())
	}
	return errors.Join(append(errs, p.lab.Close())...)
}

// sandbox makes a namespace of the path's own.
func (p *path) sandbox(name string) (*linuxnet.NS, error) {
	ns, err := p.lab.Namespace(name)
	if err != nil {
		return nil, err
	}
	p.own = append(p.own, ns)
	return ns, nil
}

// ends puts the agents of one more pair in place.
func (p *path) ends(client, server place, listen, dial []netip.Addr, port uint16) {
	p.at = append(p.at, [2]*linuxnet.NS{client.ns, server.ns})
	end := func(w place) pathspec.Endpoint {
		return pathspec.Endpoint{Place: w.Place, Launcher: transport.Local{Start: w.ns.Start}}
	}
	p.AddPair(end(client), end(server), listen, dial, port)
}

// carries declares that the traffic of a pair, or that of all, must cross dev.
func (p *path) carries(pair int, w place, dev string, forward pathspec.Direction) {
	p.MustCarry(pair, w.Place, pathspec.Device{Name: dev}, forward)
}

// rests declares that no traffic may cross dev.
func (p *path) rests(w place, dev string) { p.MustBeIdle(w.Place, pathspec.Device{Name: dev}) }

// reads has the counters of our nftables table read.
func (p *path) reads(w place) {
	p.tables = append(p.tables, w)
	p.AddReader(func(_ context.Context, c driver.Counters) error {
		counts, err := w.ns.Counts(table)
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

// forget empties the connection tracking of the gateways on the path.
func (p *path) forget(context.Context) error {
	for _, w := range p.tables {
		if err := w.ns.FlushConntrack(); err != nil {
			return err
		}
	}
	return nil
}
