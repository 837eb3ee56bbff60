// Package bridgedtest has the detours of paths that package bridged builds: each keeps the traffic flowing past what the program's rules
// translate, which must be void.
package bridgedtest

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/firewall"
	"tare/internal/driver/labdriver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/traffic"
)

// Chains are where the program's rules translate, each with its table: those of published ports, and of masquerading.
type Chains struct {
	Published  []string
	Masquerade string
}

// Check opens the detours of the two modes of a driver, one with a published server and one whose client is in a sandbox, too.
func Check(t *testing.T, d labdriver.Driver, published, both string, of Chains) {
	t.Helper()
	for _, tt := range []struct {
		name, mode string
		open       func(*testing.T, *drivertest.Setup) error
		want       string
		cannot     func(study.Workload, traffic.Spec, map[string]string) string
	}{
		{"a route to the sandbox", published, routed, "b/dnat:5201.packets", nil},
		{"another rule before", published, otherRule, "b/dnat:5201.packets", nil},
		{"a process that forwards", published, of.relayed, "b/dnat:5201.packets", driver.TCPOnly("the process forwards connections")},
		{"no masquerade, routed back", both, of.unmasqueraded, "a/masquerade.packets", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			drivertest.Detour{Name: tt.name, Open: func(s *drivertest.Setup) error { return tt.open(t, s) }, Want: tt.want}.IsVoid(t, d, driver.Mode{ID: tt.mode, Cannot: tt.cannot})
		})
	}
}

// Ends returns the server, the address that it has in its sandbox, and host b.
func Ends(s *drivertest.Setup) (server *driver.Endpoint, own netip.AddrPort, b *linuxnet.NS) {
	server = &s.Path.Pairs[0].Server
	return server, server.Listen[0], s.Lab.B.NS
}

// routed dials the sandbox's own address, over a route.
func routed(_ *testing.T, s *drivertest.Setup) error {
	server, own, _ := Ends(s)
	server.Dial[0] = own
	return s.Lab.A.NS.Routes().Route(netip.PrefixFrom(own.Addr(), 32), s.Lab.B.Addr[0], "")
}

// otherRule translates the published port by a rule that is not the program's.
func otherRule(_ *testing.T, s *drivertest.Setup) error {
	_, own, b := Ends(s)
	return errors.Join(
		NFT(b, "add table ip other"), NFT(b, "add chain ip other before { type nat hook prerouting priority -110; }"),
		NFT(b, "add rule ip other before tcp dport 5201 dnat to "+own.String()), NFT(b, "add rule ip other before udp dport 5201 dnat to "+own.String()))
}

// relayed has a process of the host listen at the published port, as a userland proxy does.
func (c Chains) relayed(t *testing.T, s *drivertest.Setup) error {
	server, own, b := Ends(s)
	errs := []error{drivertest.RelayTCP(t, b, server.Dial[0], own)}
	for _, chain := range c.Published {
		errs = append(errs, NFT(b, "insert rule "+chain+" accept"))
	}
	return errors.Join(errs...)
}

// unmasqueraded keeps the client's own address, and adds a route back.
func (c Chains) unmasqueraded(_ *testing.T, s *drivertest.Setup) error {
	return errors.Join(NFT(s.Lab.A.NS, "insert rule "+c.Masquerade+" accept"),
		s.Lab.B.NS.Routes().Route(s.Lab.Addresses(lab.NetA, 0)[0].Masked(), s.Lab.A.Addr[0], ""))
}

// NFT executes a command of nft in a namespace.
func NFT(on *linuxnet.NS, command string) error {
	_, err := firewall.Run(context.Background(), on, "nft", command)
	return err
}
