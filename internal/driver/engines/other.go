//go:build !linux

package engines

import (
	"context"

	"tare/internal/linuxnet"
)

// path exists on Linux only. Elsewhere the modes are listed, and none is built.
type path struct{}

func (*path) host(context.Context) error              { return linuxnet.ErrSystem }
func (*path) published(context.Context) error         { return linuxnet.ErrSystem }
func (*path) bridge(context.Context) error            { return linuxnet.ErrSystem }
func (*path) colocated(context.Context) error         { return linuxnet.ErrSystem }
func (*path) toHost(context.Context) error            { return linuxnet.ErrSystem }
func (*path) userlandProxy(context.Context) error     { return linuxnet.ErrSystem }
func (*path) routed(context.Context) error            { return linuxnet.ErrSystem }
func (*path) natUnprotected(context.Context) error    { return linuxnet.ErrSystem }
func (*path) nat(context.Context) error               { return linuxnet.ErrSystem }
func (*path) directRouting(context.Context) error     { return linuxnet.ErrSystem }
func (*path) isolated(context.Context) error          { return linuxnet.ErrSystem }
func (*path) serviceHostPort(context.Context) error   { return linuxnet.ErrSystem }
func (*path) ingress(context.Context) error           { return linuxnet.ErrSystem }
func (*path) rootless(context.Context) error          { return linuxnet.ErrSystem }
func (*path) rootlessOut(context.Context) error       { return linuxnet.ErrSystem }
func (*path) macvlan(context.Context) error           { return linuxnet.ErrSystem }
func (*path) ipvlan(context.Context) error            { return linuxnet.ErrSystem }
func (*path) overlay(context.Context) error           { return linuxnet.ErrSystem }
func (*path) overlayEncrypted(context.Context) error  { return linuxnet.ErrSystem }
func (*path) network(context.Context) error           { return linuxnet.ErrSystem }
func (*path) networkWithDriver(context.Context) error { return linuxnet.ErrSystem }
func (*path) slirp(context.Context) error             { return linuxnet.ErrSystem }
func (*path) pasta(context.Context) error             { return linuxnet.ErrSystem }
