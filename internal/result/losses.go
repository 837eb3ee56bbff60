package result

import "slices"

// Losses attributes the datagrams that a trial lost to the places where counters saw them
// dropped. Sent, Received and Lost count datagrams of the whole trial, its warm-up
// included, in both directions, because counters cannot be read at the edges of the timed
// window without disturbing it. Unexplained is Lost minus what is attributed. It may be
// negative: counters then increased by more than was lost, for example because other
// traffic uses the same path.
type Losses struct {
	Sent        int64        `json:"sent"`
	Received    int64        `json:"received"` // without duplicates
	Lost        int64        `json:"lost"`
	Places      []LossPlace  `json:"places,omitempty"` // in the order of LossPlaces; only places with losses
	Unexplained int64        `json:"unexplained"`
	Reasons     []DropReason `json:"reasons,omitempty"` // of the kernel, if available
	Missing     []string     `json:"missing,omitempty"` // what could not be read or attributed, and why
}

// LossPlace is a place with the number of datagrams lost there.
type LossPlace struct {
	Place   string `json:"place"`           // the id of one of LossPlaces
	Where   string `json:"where,omitempty"` // the network stack, such as a/client
	Counter string `json:"counter"`         // the counter that shows it
	Count   int64  `json:"count"`           // datagrams
}

// LossSummary is the sum of a mode's losses in a workload over its ok trials. Lost,
// Places, Unexplained and Reasons are sums; Trials is the number of trials with counts.
type LossSummary struct {
	Mode        string       `json:"mode"`
	Workload    string       `json:"workload"`
	Trials      int          `json:"trials"`
	Sent        int64        `json:"sent"`
	Lost        int64        `json:"lost"`
	Places      []LossPlace  `json:"places,omitempty"`
	Unexplained int64        `json:"unexplained"`
	Reasons     []DropReason `json:"reasons,omitempty"`
	Missing     []string     `json:"missing,omitempty"` // without duplicates
}

// PlaceKind is one of the places where a datagram can be dropped, in the order of the
// packet path.
type PlaceKind struct {
	ID    string
	Title string
}

// The places where a datagram can be dropped.
const (
	PlaceSendBuffer = "send_buffer"
	PlacePolicy     = "local_policy"
	PlaceQdisc      = "qdisc"
	PlaceDeviceTx   = "device_tx"
	PlaceBacklog    = "backlog"
	PlaceBridge     = "bridge"
	PlaceNetfilter  = "netfilter"
	PlaceRouting    = "routing"
	PlaceDeviceRx   = "device_rx"
	PlaceProxy      = "proxy"
	PlaceProtocol   = "receive_protocol"
	PlaceReceive    = "receive_buffer"
	PlaceReceiver   = "receiver"
)

// LossPlaces lists the places. Datagrams that the generator failed to send are not
// included: what was never sent is not lost.
func LossPlaces() []PlaceKind {
	return []PlaceKind{
		{PlaceSendBuffer, "sender's socket buffer"},
		{PlacePolicy, "sender's own firewall or routing"},
		{PlaceQdisc, "queueing discipline of a device"},
		{PlaceDeviceTx, "a device's transmit side (ring of the peer full)"},
		{PlaceBacklog, "per-CPU receive backlog"},
		{PlaceBridge, "bridge"},
		{PlaceNetfilter, "firewall, NAT or connection tracking"},
		{PlaceRouting, "routing, forwarding or fragmentation"},
		{PlaceDeviceRx, "a device's receive side (network card or tunnel)"},
		{PlaceProxy, "socket of a userland proxy or tunnel"},
		{PlaceProtocol, "receiver's UDP (no socket, checksum, memory)"},
		{PlaceReceive, "receiver's socket buffer"},
		{PlaceReceiver, "receiving program (arrived after it had stopped)"},
	}
}

// LossTitle is the title of a place, or its id if it is unknown.
func LossTitle(id string) string {
	all := LossPlaces()
	if i := slices.IndexFunc(all, func(p PlaceKind) bool { return p.ID == id }); i >= 0 {
		return all[i].Title
	}
	return id
}

// DropReason is the number of datagrams of a trial that the kernel dropped for one reason
// in one function, in the kernel's terms (skb:kfree_skb). A packet that contains several
// datagrams counts as that many.
type DropReason struct {
	Reason   string `json:"reason"`             // of enum skb_drop_reason, without its prefix: SOCKET_RCVBUFF
	Location string `json:"location,omitempty"` // function that dropped it, empty where symbols are hidden
	Count    int64  `json:"count"`              // datagrams
}
