//go:build linux

package netns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// path is a mode that stands, and at the same time the notes taken while it was
// built: what to watch, what the watching must show, what to draw.
type path struct {
	mode           string
	lab            *lab.Lab
	own            []*linuxnet.NS // sandboxes, beside the lab's hosts
	client, server driver.Endpoint
	at             [2]*linuxnet.NS // of client and server
	watch          []watched
	rules          []driver.Rule
	nodes          []node
}

// watched is a device or a table whose counters are read around a trial.
type watched struct {
	at    string // host or host/sandbox, as counters are named
	ns    *linuxnet.NS
	dev   string // a device, or
	table string // a nftables table
}

// Ends gives the two ends.
func (p *path) Ends() (client, server driver.Endpoint) { return p.client, p.server }

// Close takes the sandboxes down. What stands on the lab's hosts goes with them:
// a mode has its lab to itself.
func (p *path) Close(context.Context) error { return p.closeAll() }

func (p *path) closeAll() error {
	var errs []error
	for _, ns := range p.own {
		errs = append(errs, ns.Close())
	}
	return errors.Join(errs...)
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

// port is the data port of paths that fix it, as a published port does.
const port = 5201

// ends puts the agents in place. The server listens on its addresses at a port
// and is dialled at others, both IPv4 first; port 0 leaves the choice to it.
func (p *path) ends(clientAt string, client *linuxnet.NS, serverAt string, server *linuxnet.NS, listen, dial []netip.Addr, number uint16) {
	p.at = [2]*linuxnet.NS{client, server}
	p.client = driver.Endpoint{Name: clientAt, Launcher: transport.Local{Start: client.Start}}
	p.server = driver.Endpoint{Name: serverAt, Launcher: transport.Local{Start: server.Start}}
	for i := range listen {
		p.server.Listen = append(p.server.Listen, netip.AddrPortFrom(listen[i], number))
		p.server.Dial = append(p.server.Dial, netip.AddrPortFrom(dial[i], number))
	}
}

// direction says which way payload from client to server crosses a device.
type direction bool

const (
	transmits direction = true  // the device sends it
	receives  direction = false // the device receives it
)

// carries declares that the traffic must cross dev.
func (p *path) carries(at string, ns *linuxnet.NS, dev string, forward direction) {
	p.watch = append(p.watch, watched{at: at, ns: ns, dev: dev})
	tx, rx := driver.Forward, driver.Reverse
	if forward == receives {
		tx, rx = rx, tx
	}
	p.rules = append(p.rules, driver.Rule{Counter: counter(at, dev, "tx_bytes"), Expect: tx}, driver.Rule{Counter: counter(at, dev, "rx_bytes"), Expect: rx})
}

// rests declares that no traffic may cross dev.
func (p *path) rests(at string, ns *linuxnet.NS, dev string) {
	p.watch = append(p.watch, watched{at: at, ns: ns, dev: dev})
	for _, c := range []string{"tx_bytes", "rx_bytes"} {
		p.rules = append(p.rules, driver.Rule{Counter: counter(at, dev, c), Expect: driver.Still})
	}
}

func counter(at, dev, what string) string { return at + "/" + dev + "." + what }

// addrs takes the addresses out of prefixes.
func addrs(prefixes []netip.Prefix) []netip.Addr {
	var out []netip.Addr
	for _, p := range prefixes {
		out = append(out, p.Addr())
	}
	return out
}

// Snapshot reads the counters of every watched device and table.
func (p *path) Snapshot(context.Context) (driver.Counters, error) {
	c := driver.Counters{}
	for _, w := range p.watch {
		if w.dev != "" {
			s, err := w.ns.Stats(w.dev)
			if err != nil {
				return nil, err
			}
			c[counter(w.at, w.dev, "tx_bytes")] = s.TxBytes
			c[counter(w.at, w.dev, "rx_bytes")] = s.RxBytes
			continue
		}
		counts, err := w.ns.Counts(w.table)
		if err != nil {
			return nil, err
		}
		for name, n := range counts {
			c[counter(w.at, w.table, name+"_packets")] = n.Packets
			c[counter(w.at, w.table, name+"_bytes")] = n.Bytes
		}
	}
	return c, nil
}

// Prove checks the counters against what was carried.
func (p *path) Prove(_ context.Context, before, after driver.Counters, carried driver.Carried) error {
	if err := driver.Verify(p.rules, before, after, carried); err != nil {
		return fmt.Errorf("the path of %s is not proven: %w", p.mode, err)
	}
	return nil
}
