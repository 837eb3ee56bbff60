package rootless

import (
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// The parts of this package's modes.
const (
	partNamespace = "namespace"
	partProcess   = "process"
	partMTU       = "mtu"
)

func parts(program string) []driver.Part {
	return []driver.Part{
		{ID: partNamespace, Title: "a network namespace for the sandbox, reached over a veth that its host routes, as root can set it up", Avoid: "use the network of the host (--network host)"},
		{ID: partProcess, Title: program + " between the sandbox and its host, in place of the veth", Avoid: "start the container as root, with a veth"},
		{ID: partMTU, Title: "the MTU of the sandbox's device, larger than the underlay's (off: the underlay's)", Avoid: "set the MTU of the underlay on the sandbox's device"},
	}
}

// partNeeds lists which part needs which other.
func partNeeds() []labdriver.PartNeed {
	return []labdriver.PartNeed{
		{Part: partProcess, Needs: partNamespace, Why: "the process is the network of a namespace"},
		{Part: partMTU, Needs: partNamespace, Why: "it is the MTU of a device in a namespace"},
	}
}
