package driver

// Planned is a mode that is known and not built yet. A study may name it: its cells
// come out unsupported, and the study stays as it is when the mode lands.
type Planned struct {
	Mode
	Why string // what is missing
}

// PlannedModes lists them. Whoever builds one takes its line away.
func PlannedModes() []Planned {
	const (
		ipsec = "tare cannot make IPsec tunnels yet"
		ovs   = "tare cannot start Open vSwitch yet"
	)
	return []Planned{
		{Mode{ID: "ipsec/kernel", Title: "an IPsec tunnel between the hosts, by the kernel", Baseline: "host"}, ipsec},
		{Mode{ID: "ipsec/userspace", Title: "an IPsec tunnel between the hosts, by a process", Baseline: "host"}, ipsec},
		{Mode{ID: "ovs/flat", Title: "Open vSwitch without a tunnel", Baseline: "host"}, ovs},
	}
}
