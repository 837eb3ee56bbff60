// Package tunnel is what the drivers of encrypted tunnels have in common: two hosts of a
// lab, each with sandboxes behind a bridge, and between the two a tunnel that carries
// the sandboxes' subnets, routed and without address translation. The driver makes the
// tunnel; this package makes the rest, proves that traffic took it and that nothing
// crossed the underlay in clear.
package tunnel
