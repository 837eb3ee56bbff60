package evidence

import (
	"testing"

	"tare/internal/must"
)

// A retransmission is attributed once, to the most certain cause, and the rest is not
// invented.
func TestRetransmitCauses(t *testing.T) {
	for what, c := range map[string]struct {
		moved map[string]uint64
		want  map[string]int64
	}{
		"not counted": {map[string]uint64{"TcpExt.TCPFastRetrans": 3}, nil},
		"none":        {map[string]uint64{"Tcp.RetransSegs": 0, "TcpExt.TCPTimeouts": 2, "TcpExt.TCPLossProbes": 1}, map[string]int64{}},
		"fast":        {map[string]uint64{"Tcp.RetransSegs": 10, "TcpExt.TCPFastRetrans": 10}, map[string]int64{"fast": 10}},
		"a lost handshake is no timeout of the transfer": {map[string]uint64{"Tcp.RetransSegs": 2, "TcpExt.TCPSynRetrans": 2, "TcpExt.TCPTimeouts": 2}, map[string]int64{"syn": 2}},
		"of each": {map[string]uint64{"Tcp.RetransSegs": 30, "TcpExt.TCPFastRetrans": 10, "TcpExt.TCPSlowStartRetrans": 5, "TcpExt.TCPSynRetrans": 1,
			"TcpExt.TCPTimeouts": 4, "TcpExt.TCPLossProbes": 6}, map[string]int64{"fast": 10, "timeout": 8, "syn": 1, "tail_loss_probe": 6, "other": 5}},
		"probes that sent something new": {map[string]uint64{"Tcp.RetransSegs": 12, "TcpExt.TCPFastRetrans": 10, "TcpExt.TCPLossProbes": 6}, map[string]int64{"fast": 10, "tail_loss_probe": 2}},
		"an older kernel":                {map[string]uint64{"Tcp.RetransSegs": 12}, map[string]int64{"other": 12}},
	} {
		must.EqualFor(t, what, c.want, retransmitCauses(c.moved))
		var sum int64
		for _, n := range retransmitCauses(c.moved) {
			sum += n
		}
		if c.want != nil && sum != int64(c.moved["Tcp.RetransSegs"]) {
			t.Errorf("%s: %d are attributed", what, sum)
		}
	}
}
