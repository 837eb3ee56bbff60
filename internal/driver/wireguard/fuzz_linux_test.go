package wireguard

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// FuzzParseCounters checks that any reply of WireGuard is an error or counters, and that no error
// contains anything of the reply, because the private key is in it.
func FuzzParseCounters(f *testing.F) {
	f.Add("private_key=" + strings.Repeat("ab", 32) + "\nlisten_port=1\ntx_bytes=5\nrx_bytes=6\nlast_handshake_time_sec=7\nlast_handshake_time_nsec=8\nerrno=0\n")
	f.Add("errno=-22\n")
	f.Add("tx_bytes=private\n")
	f.Add("last_handshake_time_sec=9223372036854775807\nlast_handshake_time_nsec=9223372036854775807\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCounters(text)
		if err == nil {
			if c.TX > 0 && !strings.Contains(text, "tx_bytes=") {
				t.Errorf("%+v of %q", c, text)
			}
			return
		}
		for _, name := range []string{"tx_bytes", "rx_bytes", "last_handshake_time_sec", "last_handshake_time_nsec", "errno"} {
			if err.Error() == "read WireGuard's reply: "+name+" is not a number" {
				return
			}
		}
		var n uint64
		if _, scan := fmt.Sscanf(err.Error(), "WireGuard rejects its configuration with error %d", &n); scan != nil {
			t.Errorf("%q has more than names and the error's number", err)
		}
	})
}

// FuzzKey checks that a key is read only as it is written, and is never printed.
func FuzzKey(f *testing.F) {
	f.Add([]byte(strings.Repeat("ab", 32)))
	f.Add([]byte(strings.Repeat("ab", 31) + "x0"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, text []byte) {
		var k key
		if k.UnmarshalText(text) != nil {
			return
		}
		again, err := k.MarshalText()
		if err != nil || !bytes.EqualFold(text, again) {
			t.Errorf("%q came back as %q, %v", text, again, err)
		}
		if s := fmt.Sprintf("%v %+v %#v %s", k, k, k, k); strings.Contains(s, string(again[:8])) {
			t.Errorf("%s prints the key", s)
		}
	})
}
