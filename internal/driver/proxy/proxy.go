// Package proxy builds modes with proxies between client and server, in the clear or with TLS between
// them: the shared proxy of each host of a service mesh, a sidecar beside an endpoint, or a proxy on a
// host between. They forward TCP connections, and are HAProxy or this program, or read each request of
// HTTP, and are HAProxy, nginx, Caddy or Envoy.
package proxy

import (
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/study"
)

// Command is the hidden subcommand under which this program runs a proxy.
const Command = "proxy"

// tcpOnly is why the modes carry no datagrams.
const tcpOnly = "its proxies forward TCP connections alone"

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// proxyReload is the event of proxies that can reload their configuration: HAProxy and nginx.
const proxyReload = "proxy_reload"

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
		{Mode: driver.Mode{ID: "proxy/l4", Title: "an installed proxy beside each endpoint that forwards TCP connections, as sidecars do", Baseline: "host", Cannot: kind{always: true}.cannotForward,
			Own: settings(placements()), Events: []string{proxyReload}}, Build: kind{always: true}},
		{Mode: driver.Mode{ID: "proxy/tls", Title: "both endpoints behind a proxy, with mutual TLS between the proxies", Baseline: "host", Cannot: kind{tls: true}.cannotForward,
			Own: settings([]string{atBoth, atHop}), Events: []string{proxyReload}}, Build: kind{tls: true}}, // TLS is between two proxies
		{Mode: driver.Mode{ID: "proxy/http", Title: "an installed proxy beside each endpoint that reads each request, as sidecars and gateways do", Baseline: "host", Cannot: cannotRead,
			Own: httpSettings(), PartModes: partModes(), Events: []string{proxyReload}}, Build: kind{always: true, http: true}},
	}
}

// partModes are the steps by which the cost of proxy/http is explained.
func partModes() []driver.PartMode {
	return []driver.PartMode{
		{Part: driver.Part{ID: "hops", Title: "two more connections on the way, each with a proxy that copies what arrives", Avoid: "use one proxy, or none"}, Mode: "proxy/l4"},
		{Part: driver.Part{ID: "requests", Title: "the proxies read each request and response, and write them again", Avoid: "forward TCP (mode tcp) where no rule reads requests"}, Mode: "proxy/http"},
		{Part: driver.Part{ID: "mutual-tls", Title: "mutual TLS between the proxies, over connections that are kept", Avoid: "use it only where the network is not trusted"}, Mode: "proxy/http", With: map[string]string{settingTLS: tlsMutual}},
		{Part: driver.Part{ID: "no-reuse", Title: "a new connection to the next hop for each request, with a handshake between the proxies", Avoid: "keep connections: http-reuse of HAProxy, keepalive in an upstream of nginx"}, Mode: "proxy/http", With: map[string]string{settingTLS: tlsMutual, settingReuse: study.Off}},
	}
}

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode { return rows().Modes() }
