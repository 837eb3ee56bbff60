package firewall

import (
	"net/netip"
	"testing"

	"tare/internal/testkit/must"
)

// saved is what netavark and a CNI plugin write, with rules that are neither's.
const saved = `*nat
:NETAVARK-DN-1D87 - [0:0]
[1:40] -A POSTROUTING -j NETAVARK-HOSTPORT-MASQ
[7:40] -A POSTROUTING -s 198.18.1.0/24 -j NETAVARK-1D87
[8:40] -A POSTROUTING -s 198.18.2.9/32 -m comment --comment "name: \"podman\" id: \"x\"" -j CNI-af1
[2:80] -A NETAVARK-1D87 -d 198.18.1.0/24 -j ACCEPT
[5:60] -A NETAVARK-1D87 ! -d 224.0.0.0/4 -j MASQUERADE
[6:60] -A CNI-af1 ! -d 224.0.0.0/4 -m comment --comment "name: \"podman\"" -j MASQUERADE
[9:90] -A NETAVARK-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE
[3:30] -A NETAVARK-DN-1D87 -p tcp -m tcp --dport 5201 -j DNAT --to-destination 198.18.1.2:5201
[4:40] -A NETAVARK-DN-1D87 -p udp -m udp --dport 5201 -j DNAT --to-destination 198.18.1.2:5201
[9:90] -A NETAVARK-DN-1D87 -p tcp -m tcp --dport 5202 -j DNAT --to-destination 198.18.1.3:5202
[9:90] -A PREROUTING -p tcp -m tcp --dport 5201 -j DNAT --to-destination 198.18.1.2:5201
COMMIT
`

func TestPodmanRules(t *testing.T) {
	rules := must.Get(ParseIptables(saved))(t)
	to := netip.MustParseAddr("198.18.1.2")
	for _, tt := range []struct {
		name string
		got  []Rule
		want uint64
	}{
		{"the published port", OfPodman(Published(rules, 5201, to)), 7},
		{"another port", OfPodman(Published(rules, 5202, to)), 0},
		{"of netavark", MasqueradingFrom(rules, netip.MustParseAddr("198.18.1.7")), 5},
		{"of CNI", MasqueradingFrom(rules, netip.MustParseAddr("198.18.2.9")), 6},
		{"of another container", MasqueradingFrom(rules, netip.MustParseAddr("198.18.2.8")), 0},
	} {
		if got := Packets(tt.got); got != tt.want {
			t.Errorf("%s: %d packets of %+v, want %d", tt.name, got, tt.got, tt.want)
		}
	}
	must.FailFor(t, "a counter that is no number passed", must.Err(ParseIptables("[x:1] -A A -j B\n")))
}

// Whatever is read, a rule that is found has the port and the address that were asked for.
func FuzzPodmanRules(f *testing.F) {
	f.Add(saved)
	f.Add("[1:1] -A CNI-DN-x ! --dport 5201 -j DNAT --to-destination 198.18.1.2:1")
	to := netip.MustParseAddr("198.18.1.2")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := ParseIptables(text)
		if err != nil {
			return
		}
		for _, r := range OfPodman(Published(rules, 5201, to)) {
			must.True(t, r.Port == 5201 && r.To.Addr() == to && r.Target == "DNAT", "found %+v", r)
		}
	})
}
