package engines

import (
	"context"
	"time"

	"tare/internal/driver"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// Stage is the lab and the engines of a path.
type Stage struct {
	Lab  *lab.Lab
	A, B *private.Engine
}

// Prepared returns a driver that calls the test to prepare the engines of each path.
func Prepared(prepare func(ctx context.Context, s Stage) error) Docker {
	return Docker{ready: func(ctx context.Context, p *path) error { return prepare(ctx, p.staged()) }}
}

// Impatient returns a driver that soon gives up a path whose endpoints do not reach each other.
func Impatient() Docker { return Docker{join: time.Second} }

// Staged returns the lab and the engines of a path.
func Staged(p *driver.Path) Stage {
	return p.Internal.(*path).staged()
}

func (p *path) staged() Stage { return Stage{p.lab, p.a.engine, p.b.engine} }

// Ends returns the containers of a path's first pair, with their namespaces.
func Ends(p *driver.Path) (client, server *engine.Container, at [2]*linuxnet.NS) {
	for _, b := range p.Internal.(*path).boxes.all {
		switch {
		case b.pair != 1:
		case b.role == "client":
			client, at[0] = b.container, b.ns
		default:
			server, at[1] = b.container, b.ns
		}
	}
	return client, server, at
}

// Encrypted applies the rules of an encrypted overlay to any other path.
func Encrypted(p *driver.Path) error {
	on := p.Internal.(*path)
	err := on.mustEncrypt()
	*p = *on.DriverPath(*p)
	return err
}
