//go:build linux

package netns_test

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/netns"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// Three clients have one server in every mode, and in a variant whose namespaces all track connections: what is the clients' own carries what each
// exchanged, what is the server's carries all of it, and what is the other servers' nothing.
func TestFanIn(t *testing.T) {
	orders := []driver.Order{{Mode: "netns/bridge", Pairs: 3, With: map[string]string{"tracking": "on", "gro": "off"}}}
	for _, m := range (netns.Driver{}).Modes() {
		must.EqualFor(t, m.ID, true, m.FanIn)
		orders = append(orders, driver.Order{Mode: m.ID, Pairs: 3})
	}
	for i, o := range orders {
		t.Run(o.Mode, func(t *testing.T) {
			t.Parallel()
			kind := "tcp_rr"
			if i%3 == 0 {
				kind = "http"
			}
			s := drivertest.Build(t, netns.Driver{}, drivertest.SpecOn(drivertest.Spec(t, nil), o))
			s.ConformsFanIn(t, kind, i%2 == 0 && s.Lab.IPv6)
		})
	}
}
