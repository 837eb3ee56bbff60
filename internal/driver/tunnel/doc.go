// Package tunnel is shared by the drivers of encrypted tunnels: two hosts of a lab, each
// with sandboxes behind a bridge, and between them a tunnel that carries the sandboxes'
// subnets, routed and without address translation. The driver creates the tunnel; this
// package creates the rest, and verifies that traffic took the tunnel and that nothing
// crossed the underlay unencrypted.
package tunnel
