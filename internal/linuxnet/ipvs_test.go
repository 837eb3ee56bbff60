//go:build linux

package linuxnet

import (
	"testing"

	"tare/internal/testkit/must"
)

// As Linux 6.1 prints it.
const ipvsPerCPU = `       Total Incoming Outgoing         Incoming         Outgoing
CPU    Conns  Packets  Packets            Bytes            Bytes
  0        3       1A       10             1000              200
  1        0        1        0               2A                0
  ~        3       1B       10             FFFF             FFFF

     Conns/s   Pkts/s   Pkts/s          Bytes/s          Bytes/s
           0        0        0                0                0
`

func TestParseIPVS(t *testing.T) {
	got, err := parseIPVS(ipvsPerCPU)
	if want := (IPVSCounts{InBytes: 0x102a, OutBytes: 0x200}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "CPU    Conns  Packets  Packets            Bytes            Bytes\n", "  0  0  0  0  x  0\n", "  0  0  0  0  0  x\n"} {
		must.FailFor(t, bad, must.Err(parseIPVS(bad)))
	}
}
