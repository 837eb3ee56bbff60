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
		vm = "tare cannot start virtual machines yet"
	)
	return []Planned{
		{Mode{ID: "vm/virtio", Title: "a virtual machine with a virtio interface", Baseline: "host-local"}, vm},
		{Mode{ID: "vm/user", Title: "a virtual machine behind user-mode address translation", Baseline: "host-local"}, vm},
		{Mode{ID: "vm/virtio-container", Title: "a container behind a published port in a virtual machine", Baseline: "host-local"}, vm},
	}
}
