//go:build linux

package docker

import (
	"context"

	"tare/internal/driver"
	"tare/internal/driver/notes"
	"tare/internal/engine"
)

func (p *path) published(ctx context.Context) error     { return p.pending(ctx) }
func (p *path) bridge(ctx context.Context) error        { return p.pending(ctx) }
func (p *path) colocated(ctx context.Context) error     { return p.pending(ctx) }
func (p *path) toHost(ctx context.Context) error        { return p.pending(ctx) }
func (p *path) userlandProxy(ctx context.Context) error { return p.pending(ctx) }

func (p *path) pending(context.Context) error {
	_ = engine.ContainerSpec{}
	_ = notes.All
	return &driver.Unsupported{Mode: p.Mode, Reason: "not built yet"}
}
