package vswitch

import (
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// FuzzParsePorts checks that any output of ovs-ofctl is an error on one line, or counts only ports
// that it names.
func FuzzParsePorts(f *testing.F) {
	f.Add("OFPST_PORT reply (xid=0x2): 2 ports\n  port  tun0: rx pkts=7, bytes=586, drop=0, errs=0, frame=0, over=0, crc=0\n           tx pkts=9, bytes=742, drop=0, errs=0, coll=0\n")
	f.Add("  port \"veth0\": rx pkts=?, bytes=?, drop=?\n")
	f.Add("port x: rx bytes=18446744073709551616")
	f.Add("tx bytes=1\nport : rx bytes=1\ntx bytes=2")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parsePorts(text)
		if err != nil {
			if all != nil || strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Errorf("%v beside the error %q", all, err)
			}
			return
		}
		if n := strings.Count(text, "port "); len(all) > n {
			t.Errorf("%d ports in a text that names %d", len(all), n)
		}
		for name := range all {
			must.Contain(t, text, name)
		}
	})
}
