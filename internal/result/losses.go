package result

import "slices"

// Losses books the datagrams that a trial lost to the places where counters saw
// them die. Sent, Received and Lost count datagrams of the whole trial, its warm-up
// included, in both directions, because counters cannot be read at the edges of the
// timed window without disturbing it.
//
// Unexplained is Lost without what is booked. It may be negative: counters then
// moved by more than was lost, as they do where others use the same path.
type Losses struct {
	Sent        int64        `json:"sent"`
	Received    int64        `json:"received"` // each once
	Lost        int64        `json:"lost"`
	Places      []LossPlace  `json:"places,omitempty"` // in the order of LossPlaces; only where something died
	Unexplained int64        `json:"unexplained"`
	Reasons     []DropReason `json:"reasons,omitempty"` // of the kernel, where it could be asked
	Missing     []string     `json:"missing,omitempty"` // what could not be read or booked, and why
}

// LossPlace is a place with what was lost there.
type LossPlace struct {
	Place   string `json:"place"`           // the id of one of LossPlaces
	Where   string `json:"where,omitempty"` // the network stack, such as a/client
	Counter string `json:"counter"`         // that says so
	Count   int64  `json:"count"`           // datagrams
}

// LossSummary is where a mode lost the datagrams of a workload, summed up over its
// ok trials. Lost, Places, Unexplained and Reasons are sums; Trials is how many had
// an account.
type LossSummary struct {
	Mode        string       `json:"mode"`
	Workload    string       `json:"workload"`
	Trials      int          `json:"trials"`
	Sent        int64        `json:"sent"`
	Lost        int64        `json:"lost"`
	Places      []LossPlace  `json:"places,omitempty"`
	Unexplained int64        `json:"unexplained"`
	Reasons     []DropReason `json:"reasons,omitempty"`
	Missing     []string     `json:"missing,omitempty"` // each once
}

// PlaceKind is one of the places where a datagram can die, in the order in which it
// meets them on its way.
type PlaceKind struct {
	ID    string
	Title string
}

// The places where a datagram can die.
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

// LossPlaces lists the places. That the generator did not send what it should have
// is none of them: nothing that was never sent is lost.
func LossPlaces() []PlaceKind {
	return []PlaceKind{
		{PlaceSendBuffer, "sender's socket buffer"},
		{PlacePolicy, "sender's own firewall or routing"},
		{PlaceQdisc, "queueing discipline of a device"},
		{PlaceDeviceTx, "a device's transmit side (ring of the other end full)"},
		{PlaceBacklog, "per-CPU receive backlog"},
		{PlaceBridge, "bridge"},
		{PlaceNetfilter, "firewall, NAT or connection tracking"},
		{PlaceRouting, "routing, forwarding or fragmentation"},
		{PlaceDeviceRx, "a device's receive side (network card or tunnel)"},
		{PlaceProxy, "socket of a userland proxy or tunnel"},
		{PlaceProtocol, "receiver's UDP (no socket, checksum, memory)"},
		{PlaceReceive, "receiver's socket buffer"},
		{PlaceReceiver, "receiving program (came after it had stopped)"},
	}
}

// LossTitle is the title of a place, its id where nobody knows it.
func LossTitle(id string) string {
	all := LossPlaces()
	if i := slices.IndexFunc(all, func(p PlaceKind) bool { return p.ID == id }); i >= 0 {
		return all[i].Title
	}
	return id
}

// DropReason is how many datagrams of a trial the kernel threw away for one reason
// at one spot, by its own word (skb:kfree_skb). A packet that stands for several
// datagrams counts as so many.
type DropReason struct {
	Reason   string `json:"reason"`             // of enum skb_drop_reason, without its prefix: SOCKET_RCVBUFF
	Location string `json:"location,omitempty"` // function that dropped it, empty where symbols are hidden
	Count    int64  `json:"count"`              // datagrams
}
