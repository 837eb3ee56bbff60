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
	"tare/internal/result"
)

// path is a mode that stands, and at the same time the notes taken while it was
// built: what to watch, what the watching must show, what to draw.
type path struct {
	mode  string
	lab   *lab.Lab
	count int            // pairs that were asked for
	own   []*linuxnet.NS // sandboxes, beside the lab's hosts
	pairs []driver.Pair
	at    [][2]*linuxnet.NS // of client and server, by pair
	watch []watched
	rules []driver.Rule
	nodes []node
}

// watched is a device or a table whose counters are read around a trial.
type watched struct {
	at    string // host or host/sandbox, as counters are named
	ns    *linuxnet.NS
	dev   string // a device, or
	table string // a nftables table
}

// Pairs gives the ends.
func (p *path) Pairs() []driver.Pair { return p.pairs }

// Facts has nothing to add to those of the machine.
func (p *path) Facts() []result.Fact { return nil }

// Lab is the lab that the path stands on, for tests that cut across it.
func (p *path) Lab() *lab.Lab { return p.lab }

// Close takes the sandboxes and the lab down. What stands on the lab's hosts goes
// with them: a mode has its lab to itself.
func (p *path) Close(context.Context) error { return p.closeAll() }

func (p *path) closeAll() error {
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

// firstPort is the data port of the first pair of paths that fix it, as a
// published port does; the others follow.
const firstPort = 5201

// anyPort leaves the choice to the server.
const anyPort = 0

// ends puts the agents of one more pair in place. The server listens on its
// addresses at a port and is dialled at others, both IPv4 first.
func (p *path) ends(client, server place, listen, dial []netip.Addr, port uint16) {
	p.at = append(p.at, [2]*linuxnet.NS{client.ns, server.ns})
	to := driver.Endpoint{Name: server.at, Launcher: transport.Local{Start: server.ns.Start}}
	for i := range listen {
		to.Listen = append(to.Listen, netip.AddrPortFrom(listen[i], port))
		to.Dial = append(to.Dial, netip.AddrPortFrom(dial[i], port))
	}
	from := driver.Endpoint{Name: client.at, Launcher: transport.Local{Start: client.ns.Start}}
	if n := len(p.pairs) + 1; n > 1 && client.ns == p.at[0][0] {
		from.Name += fmt.Sprintf("#%d", n) // several processes of one host
	}
	if n := len(p.pairs) + 1; n > 1 && server.ns == p.at[0][1] {
		to.Name += fmt.Sprintf("#%d", n)
	}
	p.pairs = append(p.pairs, driver.Pair{Client: from, Server: to})
}

// direction says which way payload from client to server crosses a device.
type direction bool

const (
	transmits direction = true  // the device sends it
	receives  direction = false // the device receives it
)

// all stands for every pair in a rule.
const all = 0

// carries declares that the traffic of a pair, counted from 1, or that of all must
// cross dev.
func (p *path) carries(pair int, w place, dev string, forward direction) {
	p.watch = append(p.watch, watched{at: w.at, ns: w.ns, dev: dev})
	tx, rx := driver.Forward, driver.Reverse
	if forward == receives {
		tx, rx = rx, tx
	}
	p.rules = append(p.rules,
		driver.Rule{Counter: counter(w.at, dev, "tx_bytes"), Expect: tx, Pair: pair},
		driver.Rule{Counter: counter(w.at, dev, "rx_bytes"), Expect: rx, Pair: pair})
}

// rests declares that no traffic may cross dev.
func (p *path) rests(w place, dev string) {
	p.watch = append(p.watch, watched{at: w.at, ns: w.ns, dev: dev})
	for _, c := range []string{"tx_bytes", "rx_bytes"} {
		p.rules = append(p.rules, driver.Rule{Counter: counter(w.at, dev, c), Expect: driver.Still})
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

// Forget empties the connection tracking of the gateways on the path.
func (p *path) Forget(context.Context) error {
	for _, w := range p.watch {
		if w.table == "" {
			continue
		}
		if err := w.ns.Forget(); err != nil {
			return err
		}
	}
	return nil
}

// Prove checks the counters against what was carried.
func (p *path) Prove(_ context.Context, before, after driver.Counters, carried []driver.Carried) error {
	if err := driver.Verify(p.rules, before, after, carried); err != nil {
		return fmt.Errorf("the path of %s is not proven: %w", p.mode, err)
	}
	return nil
}
