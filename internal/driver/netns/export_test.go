//go:build linux

package netns

import (
	"context"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
)

// MissingPrograms returns the error of a mode whose rules need programs of iptables that no
// machine has.
func MissingPrograms(ctx context.Context) error {
	b := gateway{path: &path{Path: labdriver.Path{Path: pathspec.Path{Mode: "netns/published"}}}}
	_, err := b.iptablesRules(ctx, "iptables-absent")
	return err
}

// Namespaces returns the namespaces of the first pair's endpoints.
func Namespaces(p *driver.Path) (client, server *linuxnet.NS) {
	return p.Internal.(*path).PairNamespaces(1)
}

// DetachPrograms detaches the eBPF programs of a host, a (0) or b (1).
func DetachPrograms(p *driver.Path, host int) error { return p.Internal.(*path).routers[host].Detach() }

// Services returns the input of iptables-restore for n services.
func Services(n, batch int) string { return services(n, batch) }
