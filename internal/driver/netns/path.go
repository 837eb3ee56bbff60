//go:build linux

package netns

import (
	"context"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet/redirect"
)

// path is a mode that is set up, with its specification.
type path struct {
	labdriver.Path
	parts  labdriver.PartSet
	mtu    int     // of the sandboxes' devices
	tables []place // namespaces with a nftables table of this path
	netkit bool    // sandboxes have netkit devices in place of veths

	routers []*redirect.Router // of hosts that redirect
	events  []driver.Event     // beside those of every lab
}

// onLinux is a part of what only Linux builds, for other systems.
type onLinux struct{} //nolint:unused // on other systems it builds

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
