package tcp

import (
	"testing"

	"tare/internal/study"
	"tare/internal/testkit/loopback"
	"tare/internal/traffic"
)

func TestMain(m *testing.M) { loopback.Main(m) }

func (n path) String() string { return n.name }

func pairings() []loopback.Pairing[path] { return loopback.Pairs(implementations()) }

func covering(i int) []loopback.Pairing[path] { return loopback.Cover(implementations(), i) }

// pair runs both endpoints of a trial, in slices if it has any.
func pair(t *testing.T, on loopback.Pairing[path], p traffic.Params) (client, server traffic.Report, err error) {
	t.Helper()
	return loopback.Between(t.Context(), loopback.KindOf(over(on.Client), p.Kind), loopback.KindOf(over(on.Server), p.Kind), p)
}

// closing is how a connection ends.
func closing(reset bool) string {
	if reset {
		return study.RST
	}
	return study.FIN
}

// towards is forward or both.
func towards(both bool) string {
	if both {
		return study.Both
	}
	return study.Forward
}
