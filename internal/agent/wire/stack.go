package wire

import (
	"net/netip"
	"time"
)

// Link is a network device as seen in the agent's namespace. Its counters start at the creation of
// the device.
type Link struct {
	Name      string         `json:"name"`
	Kind      string         `json:"kind,omitempty"` // veth, bridge, macvlan, ...; empty for hardware and loopback
	Index     int            `json:"index"`
	Peer      int            `json:"peer,omitempty"`   // index of the peer or of the underlying device, in that device's namespace
	Master    int            `json:"master,omitempty"` // index of the bridge it is attached to
	MTU       int            `json:"mtu"`
	Up        bool           `json:"up"`
	Loopback  bool           `json:"loopback,omitempty"`
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	TxBytes   uint64         `json:"tx_bytes"`
	RxBytes   uint64         `json:"rx_bytes"`
	TxPackets uint64         `json:"tx_packets"`
	// CarrierChanges counts how often it lost or gained its carrier; nil if unknown.
	CarrierChanges *uint64 `json:"carrier_changes,omitempty"`
	RxPackets      uint64  `json:"rx_packets"`
}

// Probe is one short exchange with another agent.
type Probe struct {
	Network string `json:"network"` // tcp, udp, or http through a proxy that reads requests
	Address string `json:"address"` // to listen on or to dial
	Token   string `json:"token"`   // the same at both agents
	Local   string `json:"local,omitempty"`
	Seen    string `json:"seen,omitempty"` // address of the dialling agent as the listening agent saw it
	// Host is what a request of http names as its host, and Forwarded the X-Forwarded-For that the listening agent saw.
	Host      string `json:"host,omitempty"`
	Forwarded string `json:"forwarded,omitempty"`
	// FindProxy asks an agent whether its end of the connection over TCP leads to a proxy in its own network namespace, and
	// Intercepted is its answer.
	FindProxy   bool `json:"find_proxy,omitempty"`
	Intercepted bool `json:"intercepted,omitempty"`
}

// Sought is when a search was answered, since its first attempt. Of OpLapsed, Connected is when the first attempt began after all that were
// answered, and the others are when the search ended.
type Sought struct {
	Connected time.Duration `json:"connected"`
	FirstByte time.Duration `json:"first_byte"`
	Whole     time.Duration `json:"whole"`
	Attempts  int           `json:"attempts"`
}
