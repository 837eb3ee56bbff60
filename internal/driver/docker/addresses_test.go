//go:build linux

package docker

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/engine"
	"tare/internal/linuxnet"
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
		got, shared := freeAddresses(on, tt.other, 10)
		var want []netip.Addr
		for _, a := range tt.want {
			want = append(want, addr(a))
		}
		if !slices.Equal(got, want) || shared != tt.shared {
			t.Errorf("%s: %v, %t; want %v, %t", tt.name, got, shared, want, tt.shared)
		}
	}
}

// Whatever the subnet, what is found free is in it, is neither its own address nor
// its broadcast, is nobody's, and is there once.
func TestFreeAddressesAreFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.Uint32().Draw(t, "address")
		bits := rapid.IntRange(8, 32).Draw(t, "bits")
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(raw >> 24), byte(raw >> 16), byte(raw >> 8), byte(raw)}), bits).Masked()
		n := engine.Network{Subnets: []netip.Prefix{p}, Joined: map[string]netip.Addr{"x": nth(p, 2)}}
		free, _ := freeAddresses(n, n, 20)
		for i, a := range free {
			if !p.Contains(a) || a == p.Addr() || a == last(p) || a == nth(p, 2) || slices.Contains(free[:i], a) {
				t.Fatalf("%v of %v is not free: %v", a, p, free)
			}
		}
	})
}

func TestOverlaySpace(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"1-v47fo1k05p", "2-m528ik22zf", "lb_m528ik22z", "2af3cfd1ad4f", "ingress_sbox"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := overlaySpace(dir, "m528ik22zfzhez35oaz1todtw"); err != nil || filepath.Base(got) != "2-m528ik22zf" {
		t.Errorf("found %q, %v", got, err)
	}
	if got, err := overlaySpace(dir, "jppnrcv25u2w82r4z354pkrw3"); err == nil {
		t.Errorf("found %q for a network that is not there", got)
	}
}

func TestESPBytes(t *testing.T) {
	a, b, c := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.3")
	out, in := espBytes([]linuxnet.Association{
		{Src: a, Dst: b, ESP: true, Bytes: 100}, {Src: a, Dst: b, ESP: true, Bytes: 20}, // two keys
		{Src: b, Dst: a, ESP: true, Bytes: 7},
		{Src: a, Dst: c, ESP: true, Bytes: 1000}, {Src: a, Dst: b, Bytes: 5000}, // another peer; AH
	}, a, b)
	if out != 120 || in != 7 {
		t.Errorf("out %d, in %d; want 120 and 7", out, in)
	}
}
