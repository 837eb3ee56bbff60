package wire

import "net/netip"

// Link is a network device as its agent's namespace sees it, with its counters
// since it was made.
type Link struct {
	Name      string         `json:"name"`
	Kind      string         `json:"kind,omitempty"` // veth, bridge, macvlan, ...; empty for hardware and loopback
	Index     int            `json:"index"`
	Peer      int            `json:"peer,omitempty"`   // index of the device at its other end or below it, there
	Master    int            `json:"master,omitempty"` // index of the bridge that it is a port of
	MTU       int            `json:"mtu"`
	Up        bool           `json:"up"`
	Loopback  bool           `json:"loopback,omitempty"`
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	TxBytes   uint64         `json:"tx_bytes"`
	RxBytes   uint64         `json:"rx_bytes"`
	TxPackets uint64         `json:"tx_packets"`
	// CarrierChanges is how often it lost or found its carrier, nil where unknown.
	CarrierChanges *uint64 `json:"carrier_changes,omitempty"`
	RxPackets      uint64  `json:"rx_packets"`
}

// Probe is one short exchange with another agent.
type Probe struct {
	Network string `json:"network"` // tcp or udp
	Address string `json:"address"` // to listen on or to dial
	Token   string `json:"token"`   // both ends must have the same
	Local   string `json:"local,omitempty"`
	Seen    string `json:"seen,omitempty"` // the dialling end's address as the listening end saw it
}
