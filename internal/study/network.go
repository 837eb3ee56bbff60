package study

import (
	"time"

	"tare/internal/study/quantity"
)

// LongestRTT is longer than any round trip of a network.
const LongestRTT = time.Minute

// Network is the network of whoever reads the report, which says what modes add as a share of its round trip. It changes
// nothing that is measured.
type Network struct {
	RTT  quantity.Duration // up to LongestRTT; absent if unknown
	Like string            // the machine to which it was measured, as ssh://[user@]name[:port]; empty if it was given
}

// Fields declares the keys of a network and their rules.
func (n *Network) Fields() []Field {
	return []Field{
		key("rtt", duration(&n.RTT, 1, LongestRTT), "its round trip, such as 300us"),
		key("like", machineText(&n.Like), "the machine to which the round trip was measured, as tare run --like records it"),
	}
}

// network checks what a study says of the reader's network.
func (v *validator) network(s Study) {
	v.all(s.Network.Fields(), "network.")
	if s.Network.Like != "" && s.Network.RTT == 0 {
		v.add("network.like", "network has like and no rtt: a study measures no round trip; give rtt, or leave network out and measure it with tare run --like")
	}
}
