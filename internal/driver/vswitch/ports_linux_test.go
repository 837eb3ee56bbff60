package vswitch

import (
	"testing"

	"tare/internal/testkit/must"
)

func TestParsePorts(t *testing.T) {
	text := `OFPST_PORT reply (xid=0x2): 3 ports
  port LOCAL: rx pkts=0, bytes=0, drop=7, errs=0, frame=0, over=0, crc=0
           tx pkts=1, bytes=2, drop=0, errs=0, coll=0
  port  "veth0": rx pkts=10, bytes=900, drop=0, errs=0, frame=0, over=0, crc=0
           tx pkts=12, bytes=1000, drop=0, errs=0, coll=0
  port  tun0: rx pkts=3, bytes=18446744073709551615, drop=?, errs=?, frame=?, over=?, crc=?
           tx pkts=4, bytes=4, drop=?, errs=?, coll=?
`
	got := must.Get(parsePorts(text))(t)
	want := map[string]Transfer{"LOCAL": {0, 2}, "veth0": {900, 1000}, "tun0": {18446744073709551615, 4}}
	must.Equal(t, want, got)
	for _, bad := range []string{"  port tun0\n", "  port tun0: rx pkts=1, drop=0\n", "  port tun0: rx pkts=1, bytes=?\n", "  port x: rx bytes=1\n tx bytes=-1\n"} {
		must.FailFor(t, bad, must.Err(parsePorts(bad)))
	}
}
