//go:build !linux

package reachability

import (
	"context"
	"net/netip"

	"tare/internal/driver"
	"tare/internal/traffic"
)

// ends are not opened on this system, which has no mode with network namespaces.
type ends struct{}

func (ends) exchange(context.Context) (client, server traffic.Report, err error) {
	return client, server, errOtherStack
}

func (ends) close() {}

func (p *Probe) start(_, _ driver.InStack, _, _ []netip.AddrPort) {
	p.finished = make(chan struct{})
	p.result.err = errOtherStack
	close(p.finished)
}
