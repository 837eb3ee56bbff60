package socket

import "net"

// deviceMTU returns the MTU of the device that has an address, 0 if it is unknown.
func deviceMTU(local net.IP) int {
	devices, err := net.Interfaces()
	if err != nil {
		return 0
	}
	for _, d := range devices {
		addrs, err := d.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(local) {
				return d.MTU
			}
		}
	}
	return 0
}
