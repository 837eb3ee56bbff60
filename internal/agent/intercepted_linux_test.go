package agent

import (
	"net/netip"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// Sockets that listen or wait after their end are no connections; an address of IPv4 in IPv6 is that of IPv4.
func TestEachConnection(t *testing.T) {
	const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:3A99 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:3A99 010200C0:E8F0 01 00000000:00000000 00:00000000 00000000  1337        0 2 2 0 20 0 0 11 -1
   2: 010200C0:E8F2 020200C0:1451 06 00000000:00000000 00:00000000 00000000     0        0 0 3 0
   3: 0000000000000000FFFF00000100007F:1451 B80D0120000000000000000001000000:0050 08 00000000:00000000 00:00000000 00000000 0 0 4 1 0
   4: damaged
`
	var got []string
	must.Do(t, eachConnection(strings.NewReader(text), func(local, remote netip.AddrPort) { got = append(got, local.String()+" "+remote.String()) }))
	must.EqualFor(t, "connections", []string{"127.0.0.1:15001 192.0.2.1:59632", "127.0.0.1:5201 [2001:db8::1]:80"}, got)
}
