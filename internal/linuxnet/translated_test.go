//go:build linux

package linuxnet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"tare/internal/testkit/must"
)

// The rules that count translated connections translate none themselves, and leave other rules readable.
func TestCountTranslated(t *testing.T) {
	ns := needNS(t)
	to := netip.MustParseAddrPort("198.18.1.2:5201")
	must.Do(t, ns.Rules().CountTranslated("counted", []Published{{Port: 5201, To: to}}, []netip.Addr{to.Addr()}))
	must.EqualFor(t, "alone it translates", false, must.Get(ns.Rules().Translates())(t))
	must.Do(t, ns.Rules().Gateway(Gateway{Table: "drops", Bridge: "br0", Rules: EngineRules, Publish: []Published{{Port: 5201, To: to}}}))
	must.EqualFor(t, "beside a gateway", true, must.Get(ns.Rules().Translates())(t))
	must.Get(ns.Rules().DropRules())(t)
	must.EqualFor(t, "the counters", map[string]Count{CountDNATOf(5201): {}, CountMasquerade: {}}, must.Get(ns.Rules().Counts("counted"))(t))
}

// Connections that a process accepts are counted, those that are refused or go to another port are not.
func TestCountAccepted(t *testing.T) {
	ns := needNS(t)
	accepted := func(port uint16) uint64 {
		return must.Get(ns.Rules().Counts("counted"))(t)[CountAcceptedAt(port)].Packets
	}
	listen := func() (l net.Listener, port uint16) {
		must.Do(t, ns.Do(func() (err error) {
			l, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp4", "127.0.0.1:0")
			return err
		}))
		t.Cleanup(func() { _ = l.Close() })
		return l, netip.MustParseAddrPort(l.Addr().String()).Port()
	}
	dial := func(l net.Listener) error {
		return ns.Do(func() error {
			c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp4", l.Addr().String())
			return errors.Join(err, closeOf(c))
		})
	}
	counted, port := listen()
	other, _ := listen()
	must.Do(t, ns.Rules().CountAccepted("counted", port))
	must.Do(t, dial(counted))
	must.Do(t, dial(counted))
	must.Do(t, dial(other))
	must.Equal(t, uint64(2), accepted(port))
	must.Do(t, counted.Close())
	must.Fail(t, dial(counted), "connection refused")
	must.Equal(t, uint64(2), accepted(port))
}

func closeOf(c net.Conn) error {
	if c == nil {
		return nil
	}
	return c.Close()
}
