package linuxnet

import (
	"slices"
	"strings"
	"testing"
)

// FuzzListening checks that a line of /proc/net/tcp gives an inode only for a socket that listens
// on the port, and only one that the line has.
func FuzzListening(f *testing.F) {
	f.Add("   0: 0100007F:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7001 1 0 100 0 0 10 0", uint16(5201))
	f.Add("   0: 00000000000000000000000000000000:1451 00000000000000000000000000000000:0000 0A 0 0 0 0 0 7001", uint16(5201))
	f.Add("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode", uint16(0))
	f.Add("0: :: : 0A 1 2 3 4 5 6", uint16(0))
	f.Fuzz(func(t *testing.T, line string, port uint16) {
		inode, ok := listening(line, port)
		if fields := strings.Fields(line); ok && (!slices.Contains(fields, inode) || !slices.Contains(fields, "0A")) {
			t.Errorf("%q listens on %d with inode %q", line, port, inode)
		}
	})
}
