package web

import (
	"testing"

	"tare/internal/testkit/loopback"
)

func TestMain(m *testing.M) { loopback.Main(m) }

func (n path) String() string { return n.name }

func pairings() []loopback.Pairing[path] { return loopback.Pairs(implementations()) }

func covering(i int) []loopback.Pairing[path] { return loopback.Cover(implementations(), i) }
