package wire

import "tare/internal/result"

// The operations that describe a machine. None is for the time of a trial.
const (
	OpMachine Op = "machine" // describe the machine and its link toward Request.Address; the reply has Machine
	OpClock   Op = "clock"   // read the time of day; the reply has Time

	OpProxyMode   Op = "proxy_mode"  // ask the kube-proxy of this node for its mode; the reply has ProxyMode
	OpCongestions Op = "congestions" // find out which congestion controls may be set; the reply has Congestions
)

// Congestions are the TCP congestion controls that the agent may set on a socket, and the one that
// a socket has by default. Both are empty where the system chooses.
type Congestions struct {
	Settable []string `json:"settable,omitempty"`
	Default  string   `json:"default,omitempty"`
}

// Machine describes the machine of an agent.
type Machine struct {
	Facts    []result.Fact    `json:"facts,omitempty"`
	Warnings []result.Warning `json:"warnings,omitempty"` // that hold for any run on the machine
	Existing []result.Warning `json:"existing,omitempty"` // that hold for endpoints in its own network stack
	BootID   string           `json:"boot,omitempty"`
	CPUs     []int            `json:"cpus,omitempty"`   // on which trials may be placed, ascending; empty if unknown
	Device   string           `json:"device,omitempty"` // by which packets to the address leave; empty if unknown
	Link     []result.Fact    `json:"link,omitempty"`   // facts of that device; empty without an address
}
