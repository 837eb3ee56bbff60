//go:build linux

package netns_test

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/netns"
	"tare/internal/testkit/drivertest"
)

// Three clients have one server in a variant whose namespaces all track connections: what is the clients' own carries what each exchanged, what is
// the server's carries all of it, and what is the other servers' nothing, of devices and of connections.
func TestFanInVariant(t *testing.T) {
	o := driver.Order{Mode: "netns/bridge", Pairs: 3, With: map[string]string{"tracking": "on", "gro": "off"}}
	s := drivertest.Build(t, netns.Driver{}, drivertest.SpecOn(drivertest.Spec(t, nil), o))
	s.ConformsFanIn(t, "tcp_rr", s.Lab.IPv6)
}
