package mesh

import (
	"fmt"
	"net/netip"
	"strings"
)

// The files of Nebula below its private /run.
const (
	configFile      = "nebula.yml"
	authorityFile   = "ca.crt"
	certificateFile = "host.crt"
	privateFile     = "host.key"
)

// config is what Nebula is told on one host.
type config struct {
	cipher string
	mtu    int
	peer   netip.Addr     // the other host's address in the overlay
	at     netip.AddrPort // its address on the underlay
	behind []netip.Prefix // the subnets behind it
}

// text formats the configuration. There is no lighthouse: each host knows the other's address.
// tare installs the routes, as it does for every tunnel. Nebula's own firewall lets everything
// pass, but looks each packet up, as it always does. What is not set is Nebula's default.
func (c config) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, `pki: {ca: /run/%s, cert: /run/%s, key: /run/%s}
static_host_map: {"%s": ["%s"]}
lighthouse: {am_lighthouse: false, hosts: []}
listen: {host: 0.0.0.0, port: %d}
punchy: {punch: false, respond: false}
relay: {am_relay: false, use_relays: false}
cipher: %s
routines: 1
logging: {level: info, format: text, disable_timestamp: true}
firewall:
  outbound: [{port: any, proto: any, host: any, local_cidr: any}]
  inbound: [{port: any, proto: any, host: any, local_cidr: any}]
tun:
  dev: %s
  mtu: %d
  unsafe_routes:
`, authorityFile, certificateFile, privateFile, c.peer, c.at, port, c.cipher, device, c.mtu)
	for _, p := range c.behind {
		fmt.Fprintf(&b, "    - {route: \"%s\", via: \"%s\", install: false}\n", p, c.peer)
	}
	return b.String()
}
