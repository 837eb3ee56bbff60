package drops

import "fmt"

// table is what ports, and addresses with a port, stand for.
type table struct {
	ports map[uint32]uint32
	ends  map[end]uint32
}

// tableOf is what those of flows and of tunnels stand for.
func tableOf(flows []Flow) (table, error) {
	t := table{map[uint32]uint32{}, map[end]uint32{}}
	for _, port := range tunnelPorts() {
		t.ports[portKey(protoUDP, port)] = portTunnel
	}
	for n, f := range flows {
		proto := uint16(protoUDP)
		if f.TCP {
			proto = protoTCP
		}
		for _, at := range f.Ends {
			k := portKey(proto, at.Port())
			before, taken := t.ports[k]
			taken = taken && before != portTunnel
			if a := at.Addr(); a.IsValid() && !a.IsUnspecified() {
				take(t.ends, end{a.As16(), k}, flowValue(n))
				if !taken {
					t.ports[k] = portEnd
				}
				continue
			}
			if !taken || before == portEnd {
				delete(t.ports, k)
			}
			take(t.ports, k, flowValue(n))
		}
	}
	if len(t.ports) > maxPorts || len(t.ends) > maxPorts {
		return t, fmt.Errorf("count drops: %d ports at %d ends, more than %d", len(t.ports), len(t.ends), maxPorts)
	}
	return t, nil
}

// take gives a flow what may be another one's already.
func take[K comparable](from map[K]uint32, k K, flow uint32) {
	if before, taken := from[k]; taken && before != flow {
		flow = portShared
	}
	from[k] = flow
}
