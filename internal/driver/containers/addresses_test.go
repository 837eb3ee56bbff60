package containers

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/engine"
	"tare/internal/testkit/must"
)

func TestFreeAddresses(t *testing.T) {
	addr, subnet := netip.MustParseAddr, func(s ...string) (out []netip.Prefix) {
		for _, p := range s {
			out = append(out, netip.MustParsePrefix(p))
		}
		return out
	}
	on := engine.Network{Subnets: subnet("198.51.100.0/29"), Gateways: []netip.Addr{addr("198.51.100.1")}, Joined: map[string]netip.Addr{"x": addr("198.51.100.6")}}
	for _, tt := range []struct {
		name   string
		other  engine.Network
		want   []string
		shared bool
	}{
		{"taken on either", engine.Network{Subnets: on.Subnets, Joined: map[string]netip.Addr{"y": addr("198.51.100.4")}}, []string{"198.51.100.5", "198.51.100.3", "198.51.100.2"}, true},
		{"the same", on, []string{"198.51.100.5", "198.51.100.4", "198.51.100.3", "198.51.100.2"}, true},
		{"another subnet", engine.Network{Subnets: subnet("203.0.113.0/29")}, nil, false},
		{"IPv6 alone", engine.Network{Subnets: subnet("2001:db8::/64")}, nil, false},
		{"both families", engine.Network{Subnets: subnet("2001:db8::/64", "198.51.100.0/29")}, []string{"198.51.100.5", "198.51.100.4", "198.51.100.3", "198.51.100.2"}, true},
	} {
		got, shared := FreeAddresses(on, tt.other, 10)
		var want []netip.Addr
		for _, a := range tt.want {
			want = append(want, addr(a))
		}
		must.True(t, slices.Equal(got, want) && shared == tt.shared, "%s: %v, %t; want %v, %t", tt.name, got, shared, want, tt.shared)
	}
}

// In any subnet, the free addresses found are inside it, are neither its network nor its
// broadcast address, are unused, and are unique.
func TestFreeAddressesAreFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.Uint32().Draw(t, "address")
		bits := rapid.IntRange(8, 32).Draw(t, "bits")
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(raw >> 24), byte(raw >> 16), byte(raw >> 8), byte(raw)}), bits).Masked()
		n := engine.Network{Subnets: []netip.Prefix{p}, Joined: map[string]netip.Addr{"x": NthAddress(p, 2)}}
		free, _ := FreeAddresses(n, n, 20)
		for i, a := range free {
			if !p.Contains(a) || a == p.Addr() || a == LastAddress(p) || a == NthAddress(p, 2) || slices.Contains(free[:i], a) {
				t.Fatalf("%v of %v is not free: %v", a, p, free)
			}
		}
	})
}
