package lab

import (
	"bytes"
	"fmt"
	"testing"

	"tare/internal/testkit/must"
)

// Both machines derive the same keys and hardware addresses from one seed, and others from
// another seed, name or place. Without a link keys are random.
func TestLinkDerives(t *testing.T) {
	spec := func(side, seed string) Spec {
		return Spec{Link: &Link{Side: side, Seed: bytes.Repeat([]byte(seed), SeedBytes)}}
	}
	key := func(s Spec, name string) string {
		t.Helper()
		k, err := s.Key(name)
		must.Require(t, err == nil && len(k) == SeedBytes, "key %s has %d bytes: %v", name, len(k), err)
		return string(k)
	}
	a, b, other := spec(SideA, "x"), spec(SideB, "x"), spec(SideB, "y")
	must.True(t, key(a, "one") == key(b, "one") && key(a, "one") != key(a, "two") && key(a, "one") != key(other, "one"), "the keys of the two machines do not fit")
	if first, second := key(Spec{}, "one"), key(Spec{}, "one"); first == second {
		t.Error("the keys of a lab on one machine are not random")
	}
	seen := map[string]bool{}
	for _, at := range [][2]string{{"a", "eth0"}, {"b", "eth0"}, {"a-client", "eth0"}, {"a", "br0"}, {"a-", "client eth0"}} {
		mac := a.Link.mac(at[0], at[1])
		must.True(t, mac.String() == b.Link.mac(at[0], at[1]).String() && mac.String() != other.Link.mac(at[0], at[1]).String(),
			"%v: the hardware addresses of the two machines do not fit", at)
		must.True(t, len(mac) == 6 && mac[0]&3 == 2, "%v: %s is not a unicast, locally administered address", at, mac)
		seen[mac.String()] = true
	}
	must.EqualFor(t, fmt.Sprintf("5 devices have the addresses %v", seen), 5, len(seen))
}
