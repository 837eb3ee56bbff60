package wireguard

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// uapi writes the end in WireGuard's cross-platform configuration protocol
// (wireguard.com/xplatform), without the line "set=1" that precedes it on a socket.
func (e end) uapi() string {
	var b strings.Builder
	fmt.Fprintf(&b, "private_key=%s\nlisten_port=%d\nreplace_peers=true\n", hex.EncodeToString(e.Private[:]), e.Port)
	fmt.Fprintf(&b, "public_key=%s\nendpoint=%s\nreplace_allowed_ips=true\n", hex.EncodeToString(e.Peer[:]), e.At)
	for _, a := range e.Allowed {
		fmt.Fprintf(&b, "allowed_ip=%s\n", a)
	}
	return b.String()
}

// counters are what a tunnel says of itself.
type counters struct {
	TX, RX    uint64 // bytes of UDP payload
	Handshake time.Time
}

// counted takes the counters out of the answer to a get. The answer has the private key
// in it, and so nothing of it goes into an error.
func counted(answer string) (c counters, err error) {
	var sec, nsec int64
	for line := range strings.Lines(answer) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		var n uint64
		switch name {
		case "tx_bytes", "rx_bytes", "last_handshake_time_sec", "last_handshake_time_nsec", "errno":
			if n, err = strconv.ParseUint(strings.TrimPrefix(value, "-"), 10, 63); err != nil {
				return c, fmt.Errorf("read WireGuard's answer: %s is no number", name)
			}
		}
		switch name {
		case "tx_bytes":
			c.TX += n
		case "rx_bytes":
			c.RX += n
		case "last_handshake_time_sec":
			sec = int64(n)
		case "last_handshake_time_nsec":
			nsec = int64(n)
		case "errno":
			if n != 0 {
				return c, fmt.Errorf("WireGuard refuses its configuration with error %d", n)
			}
		}
	}
	if sec != 0 || nsec != 0 {
		c.Handshake = time.Unix(sec, nsec)
	}
	return c, nil
}
