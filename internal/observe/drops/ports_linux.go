package drops

import "fmt"

// Kernel numbers: linux/in.h.
const (
	protoTCP = 6
	protoUDP = 17
)

// table is what ports, and addresses with a port, stand for.
type table struct {
	ports map[uint32]dropsOwner
	ends  map[dropsEnd]dropsOwner
}

// tableOf is what those of flows and of tunnels stand for.
func tableOf(flows []Flow) (table, error) {
	t := table{map[uint32]dropsOwner{}, map[dropsEnd]dropsOwner{}}
	for _, port := range tunnelPorts() {
		t.ports[portKey(protoUDP, port)] = dropsOwnerTunnel
	}
	for n, f := range flows {
		proto := uint16(protoUDP)
		if f.TCP {
			proto = protoTCP
		}
		for _, at := range f.Ends {
			k := portKey(proto, at.Port())
			before, taken := t.ports[k]
			taken = taken && before != dropsOwnerTunnel
			if a := at.Addr(); a.IsValid() && !a.IsUnspecified() {
				assignOwner(t.ends, dropsEnd{Address: a.As16(), Port: k}, flowValue(n))
				if !taken {
					t.ports[k] = dropsOwnerByEnd
				}
				continue
			}
			if !taken || before == dropsOwnerByEnd {
				delete(t.ports, k)
			}
			assignOwner(t.ports, k, flowValue(n))
		}
	}
	if len(t.ports) > maxPorts || len(t.ends) > maxPorts {
		return t, fmt.Errorf("count drops: %d ports at %d ends, more than %d", len(t.ports), len(t.ends), maxPorts)
	}
	return t, nil
}

// assignOwner gives a flow what may be another one's already.
func assignOwner[K comparable](from map[K]dropsOwner, k K, flow dropsOwner) {
	if before, taken := from[k]; taken && before != flow {
		flow = dropsOwnerShared
	}
	from[k] = flow
}

// portKey is a port of a protocol as the program looks it up.
func portKey(proto, port uint16) uint32 { return uint32(proto)<<16 | uint32(port) }

// flowValue is what stands for a flow.
func flowValue(n int) dropsOwner { return dropsOwnerFirstFlow + dropsOwner(n) } //nolint:gosec // at most maxFlows
