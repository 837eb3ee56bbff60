// Package proxy builds modes with layer 4 proxies between client and server, in the clear or with
// mutual TLS between them: the shared proxy of each host of a service mesh, a sidecar beside an
// endpoint, or a proxy on a host between. The proxies are HAProxy or this program.
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
	layer4 = "proxy/l4"
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
		{ID: layer4, Title: "an installed proxy beside each endpoint that forwards TCP connections, as sidecars do", Baseline: "host", TCPOnly: tcpOnly, Own: settings(layer4)},
		{ID: sealed, Title: "both endpoints behind a proxy, with mutual TLS between the proxies", Baseline: "host", TCPOnly: tcpOnly, Own: settings(sealed)},
	}
}
