package connection

import (
	"fmt"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// FuzzKernelCounters checks that any text of /proc gives counters without a failure.
func FuzzKernelCounters(f *testing.F) {
	f.Add("Tcp: RtoAlgorithm RetransSegs\nTcp: 1 7\n", "TCP: inuse 5 orphan 0 tw 3 alloc 9 mem 1\n")
	f.Add("Tcp:\nTcp: 1 2 3\nTcp: x", "TCP: tw")
	f.Fuzz(func(t *testing.T, table, sockets string) {
		n := ProtocolCounter(table, "Tcp", "RetransSegs")
		must.True(t, n == 0 || strings.Contains(table, "RetransSegs"), "%d retransmits in %q", n, table)
		for protocol, name := range map[string]string{"TCP:": "tw", "UDP:": "inuse"} {
			n := socketCount(sockets, protocol, name)
			must.True(t, n == 0 || strings.Contains(sockets, name), "%d sockets of %s in %q", n, protocol, sockets)
		}
	})
}

// The kernel's tables are parsed correctly.
func TestReadKernelTables(t *testing.T) {
	const snmp = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm RetransSegs InErrs\nTcp: 1 23 4\n"
	must.EqualFor(t, "RetransSegs", int64(23), ProtocolCounter(snmp, "Tcp", "RetransSegs"))
	const sockstat = "sockets: used 18\nTCP: inuse 1 orphan 0 tw 77 alloc 18 mem 1676\n"
	must.EqualFor(t, "tw", int64(77), socketCount(sockstat, "TCP:", "tw"))
	for _, text := range []string{"", "Tcp:", "Tcp: a\n", "Tcp: a\nTcp:\n", "TCP: tw"} {
		must.EqualFor(t, fmt.Sprintf("%q gave a number", text), []int64{0, 0}, []int64{ProtocolCounter(text, "Tcp", "a"), socketCount(text, "TCP:", "tw")})
	}
}
