// Package proxy builds modes with the layer 4 data path of a service mesh: on each host a
// proxy that terminates the TCP connections of the sandboxes and forwards their bytes to the
// other host's proxy, in the clear or inside mutual TLS.
package proxy

import (
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// Command is the hidden subcommand under which this program runs a proxy.
const Command = "proxy"

// The modes.
const (
	plain  = "proxy/plain"
	sealed = "proxy/tls"
)

// tcpOnly is why the modes carry no datagrams.
const tcpOnly = "its proxies forward TCP connections alone"

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode {
	return []driver.Mode{
		{ID: plain, Title: "both endpoints behind a proxy of their host that forwards TCP connections, as in a service mesh", Baseline: "host", TCPOnly: tcpOnly},
		{ID: sealed, Title: "the same with mutual TLS between the proxies", Baseline: "host", TCPOnly: tcpOnly},
	}
}
