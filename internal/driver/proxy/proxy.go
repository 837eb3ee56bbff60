// Package proxy builds modes with proxies between client and server, in the clear or with TLS between
// them: the shared proxy of each host of a service mesh, a sidecar beside an endpoint, or a proxy on a
// host between. They forward TCP connections, and are HAProxy or this program, or read each request of
// HTTP, and are HAProxy or nginx.
package proxy

import (
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// Command is the hidden subcommand under which this program runs a proxy.
const Command = "proxy"

// tcpOnly is why the modes carry no datagrams.
const tcpOnly = "its proxies forward TCP connections alone"

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// kind is which proxies a mode has.
type kind struct {
	tls    bool // between the proxies, in every variant
	always bool // beside endpoints or between the hosts, in every variant
	http   bool // they read requests
}

// rows are the modes of this package.
func rows() labdriver.Rows[kind] {
	return labdriver.Rows[kind]{
		{Mode: driver.Mode{ID: "proxy/plain", Title: "both endpoints behind a proxy of their host that forwards TCP connections, as in a service mesh", Baseline: "host", Cannot: driver.TCPOnly(tcpOnly),
			Detour: "a/proxy.forward_bytes"}},
		{Mode: driver.Mode{ID: "proxy/l4", Title: "an installed proxy beside each endpoint that forwards TCP connections, as sidecars do", Baseline: "host", Cannot: driver.TCPOnly(tcpOnly),
			Own: settings(placements())}, Build: kind{always: true}},
		{Mode: driver.Mode{ID: "proxy/tls", Title: "both endpoints behind a proxy, with mutual TLS between the proxies", Baseline: "host", Cannot: driver.TCPOnly(tcpOnly),
			Own: settings([]string{atBoth, atHop})}, Build: kind{tls: true}}, // TLS is between two proxies
		{Mode: driver.Mode{ID: "proxy/http", Title: "an installed proxy beside each endpoint that reads each request, as sidecars and gateways do", Baseline: "host", Cannot: cannotRead,
			Own: httpSettings()}, Build: kind{always: true, http: true}},
	}
}

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode { return rows().Modes() }
