package here

// LinkDetails is what the kernel and the driver of a link tell about it. A pointer is nil if
// its part is unknown; Unknown then has the reason, by the name of the part.
type LinkDetails struct {
	Name    string
	Index   int
	Kind    string // veth, bridge, vlan, bond, ...; "device" for hardware and its emulation, and for loopback
	MAC     string
	MTU     int
	TxQLen  int // packets
	Promisc int // how many users keep it promiscuous
	Up      bool

	Loopback bool
	// Lower are the names of the links that carry its packets, in the order of their indexes:
	// the members of a bond, the ports of a bridge, the link below a VLAN or macvlan device.
	// Elsewhere means that such a link is in another network namespace.
	Lower     []string
	Elsewhere bool
	// Bus and BusDevice are where its hardware is, such as pci and 0000:3b:00.0; empty if it
	// has none, and before Linux 5.14.
	Bus, BusDevice string
	Qdisc          string // kind of the root queueing discipline

	Driver, DriverVersion, Firmware string
	Speed                           *uint32 // Mbit/s
	FullDuplex                      *bool
	Features                        map[string]bool // by the kernel's names; nil is unknown
	Rings                           *Rings
	Channels                        *Channels
	Coalesce                        *Coalesce
	Pause                           *Pause
	RSS                             *RSS
	Unknown                         map[string]string
}

// Rings are the sizes of the rings of a link in descriptors, now and at most.
type Rings struct{ Rx, Tx, MaxRx, MaxTx uint32 }

// Channels are the numbers of queues of a link, now and at most. Combined ones receive and
// send.
type Channels struct{ Rx, Tx, Combined, MaxRx, MaxTx, MaxCombined uint32 }

// Coalesce says how long a link collects packets before it interrupts a CPU: microseconds
// and packets.
type Coalesce struct {
	RxMicroseconds, RxPackets, TxMicroseconds, TxPackets uint32
	AdaptiveRx, AdaptiveTx                               bool
	// StatsMicroseconds is how often the hardware updates its counters; 0 if the driver does
	// not tell.
	StatsMicroseconds uint32
}

// Pause says whether a link obeys and sends pause frames (IEEE 802.3x).
type Pause struct{ Autonegotiated, Rx, Tx bool }

// RSS is how a link distributes received packets over its queues: the size of the
// indirection table, the number of queues in it, and whether the ports of UDP are part of
// the hash; nil if unknown.
type RSS struct {
	Table, Queues int
	UDPPorts      *bool
}
