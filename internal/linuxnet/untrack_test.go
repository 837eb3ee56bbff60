//go:build linux

package linuxnet

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// Packets that Untrack names leave no entry in connection tracking, and are counted; all others
// leave one.
func TestUntrack(t *testing.T) {
	ns := needNS(t)
	// Its rules make the kernel track connections.
	must.Do(t, ns.Rules().Gateway(Gateway{Table: "tracked", Bridge: "br0", Rules: EngineRules, Subnets: []netip.Prefix{netip.MustParsePrefix("198.18.1.0/24")}}))
	tracked := func() string {
		n := must.Get(ns.ReadSysctl("net/netfilter/nf_conntrack_count"))(t)
		return n
	}
	must.Do(t, ns.Rules().Untrack("notrack", Untracked{Name: "out", Device: "lo", Sent: true, UDPPort: 4789}, Untracked{Name: "in", Device: "lo", UDPPort: 4789}))
	const payload = 100
	send := func(port string) {
		must.Do(t, ns.Do(func() error {
			c, err := net.Dial("udp4", "127.0.0.1:"+port)
			if err != nil {
				return err
			}
			defer c.Close()
			_, err = c.Write([]byte(strings.Repeat("x", payload)))
			return err
		}))
	}
	send("4789")
	counts := must.Get(ns.Rules().Counts("notrack"))(t)
	must.EqualFor(t, "bytes counted", []uint64{payload + 28, payload + 28}, []uint64{counts["out"].Bytes, counts["in"].Bytes})
	must.Equal(t, "0", tracked())
	send("4790")
	if n := tracked(); n == "0" {
		t.Error("nothing is tracked, so nothing was tested")
	}
}
