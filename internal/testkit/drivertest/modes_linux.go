package drivertest

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Conformance checks every mode of a driver, with some pairs of endpoints: the topology, and the
// verification of what trials carry, see Build and Setup.Conforms, and that the proof fails on the row's
// Detour when the traffic takes a cable. A second set-up has the same deciding facts.
func Conformance(t *testing.T, d labdriver.Driver, pairs int) {
	NeedLab(t)
	for _, m := range d.Modes() {
		var first *Setup
		t.Run(m.ID, func(t *testing.T) {
			first = Build(t, d, Order(t, m.ID, pairs, nil))
			first.Conforms(t, m)
		})
		if m.Detour != "" {
			t.Run(m.ID+" beside a cable", func(t *testing.T) { cable(m).isVoid(t, d, m).hasFactsOf(t, first) })
		} else {
			t.Run(m.ID+" set up again", func(t *testing.T) { Build(t, d, Order(t, m.ID, 1, nil)).hasFactsOf(t, first) })
		}
	}
}

// hasFactsOf checks that the facts which decide a mode's trials are those of another set-up of it, also of one with another number of pairs: else
// no run of it could be compared with another one, or be resumed. Other is nil if that was not set up.
func (s *Setup) hasFactsOf(t *testing.T, other *Setup) {
	t.Helper()
	if other != nil {
		must.EqualFor(t, "the facts that decide", result.DecidingFacts(other.Path.Facts), result.DecidingFacts(s.Path.Facts))
	}
}

// Namespaces returns the namespaces of the first pair's endpoints.
func (s *Setup) Namespaces() (client, server *linuxnet.NS) {
	return s.Path.Internal.(interface {
		PairNamespaces(pair int) (client, server *linuxnet.NS)
	}).PairNamespaces(1)
}

// Cable connects the endpoints of the first pair directly and routes the dialled address over that link, so
// that traffic still flows, and bypasses the mode. The server listens at the dialled address from then on.
func (s *Setup) Cable() error {
	client, server := s.Namespaces()
	at := &s.Path.Pairs[0].Server
	to := at.Dial[0].Addr()
	near, far := netip.MustParsePrefix("198.19.255.1/24"), netip.MustParsePrefix("198.19.255.2/24")
	err := errors.Join(
		client.Links().Veth(linuxnet.Device{Name: "cable0"}, server, linuxnet.Device{Name: "cable1"}),
		client.Links().Up("cable0"), server.Links().Up("cable1"),
		client.Routes().Address("cable0", near), server.Routes().Address("cable1", far),
		client.Routes().Route(netip.PrefixFrom(to, to.BitLen()), far.Addr(), "cable0"),
	)
	if at.Listen[0].Addr() == to {
		return err
	}
	at.Listen[0] = netip.AddrPortFrom(to, at.Listen[0].Port())
	return errors.Join(err, server.Routes().Address("cable1", netip.PrefixFrom(to, to.BitLen())))
}

// Detour is a way past a mode on which the traffic still flows.
type Detour struct {
	Name string
	Open func(*Setup) error
	Want string // the counter or rule on which the proof must fail
}

// cable is the detour of a mode's row.
func cable(m driver.Mode) Detour {
	return Detour{"a cable between the endpoints", (*Setup).Cable, m.Detour}
}

// IsVoid builds a mode, opens the detour, and checks that the proof fails for TCP, and for UDP if the mode
// carries it, over the detour and not before.
func (v Detour) IsVoid(t *testing.T, d labdriver.Driver, m driver.Mode) {
	t.Helper()
	v.isVoid(t, d, m)
}

// isVoid returns what IsVoid has built.
func (v Detour) isVoid(t *testing.T, d labdriver.Driver, m driver.Mode) *Setup {
	t.Helper()
	s := Build(t, d, Order(t, m.ID, 1, nil))
	kinds := slices.DeleteFunc([]string{"tcp_stream", "tcp_rr", "udp_stream"}, func(kind string) bool { return !carries(t, m, kind) })
	for _, kind := range kinds {
		if _, _, err := s.Trial(t, Params(kind), false); err != nil {
			t.Fatalf("%s before the detour: %v", kind, err)
		}
	}
	if err := v.Open(s); err != nil {
		t.Fatal(err)
	}
	s.WaitReachable(t)
	for _, kind := range kinds {
		s.Void(t, Params(kind), v.Want)
	}
	return s
}
