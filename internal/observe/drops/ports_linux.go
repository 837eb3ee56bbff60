package drops

import "fmt"

// portsOf is what each port stands for.
func portsOf(flows []Flow) (map[uint32]uint32, error) {
	out := map[uint32]uint32{}
	for _, port := range tunnelPorts() {
		out[portKey(protoUDP, port)] = portTunnel
	}
	for n, f := range flows {
		value := flowValue(n)
		proto := uint16(protoUDP)
		if f.TCP {
			proto = protoTCP
		}
		for _, port := range f.Ports {
			k := portKey(proto, port)
			if before, ok := out[k]; ok && before != portTunnel && before != value {
				out[k] = portShared
			} else {
				out[k] = value
			}
		}
	}
	if len(out) > maxPorts {
		return nil, fmt.Errorf("count drops: %d ports, more than %d", len(out), maxPorts)
	}
	return out, nil
}
