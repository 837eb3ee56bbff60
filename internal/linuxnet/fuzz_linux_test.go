package linuxnet

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// FuzzTCPSocket checks that a line of /proc/net/tcp gives only an inode that the line has, that a
// socket listens only in that state, and that the ports are those of the addresses.
func FuzzTCPSocket(f *testing.F) {
	f.Add("   0: 0100007F:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7001 1 0 100 0 0 10 0")
	f.Add("   0: 00000000000000000000000000000000:1451 00000000000000000000000000000000:0000 0A 0 0 0 0 0 7001")
	f.Add("   1: 0100007F:1451 0100007F:D431 01 0 0 0 0 0 7002")
	f.Add("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode")
	f.Add("0: :: : 0A 1 2 3 4 5 6")
	f.Fuzz(func(t *testing.T, line string) {
		s, ok := parseTCPSocket(line)
		if !ok {
			return
		}
		fields := strings.Fields(line)
		must.True(t, slices.Contains(fields, s.inode) && (!s.listens || slices.Contains(fields, "0A")) && (!s.listens || !s.waits), "%q is %+v", line, s)
		for address, port := range map[string]uint16{s.local: s.port, s.remote: s.remotePort} {
			_, text, _ := strings.Cut(address, ":")
			if n, err := strconv.ParseUint(text, 16, 16); !slices.Contains(fields, address) || err != nil || uint16(n) != port {
				t.Errorf("%q has the address %q with port %d", line, address, port)
			}
		}
	})
}
