package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Heard reports whether this engine has heard from its Swarm that another of it has
// containers on a network. An engine that does not know the network, because it has
// none on it itself, has heard nothing.
func (e *Engine) Heard(ctx context.Context, network string, other *Engine) (bool, error) {
	s, err := other.Swarm(ctx)
	if err != nil {
		return false, err
	}
	at, err := netip.ParseAddr(s.Addr)
	if err != nil {
		return false, fmt.Errorf("engine %s: read its address in the Swarm: %w", other.Name, err)
	}
	n, err := e.Network(ctx, network)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return slices.Contains(n.Peers, at), err
}

// partWithin bounds how long an engine may take to leave a Swarm's network after its
// last container on it has gone. It takes about a tenth of a second, and longer on a busy
// machine: a container that is started before then joins nothing again.
const partWithin = 10 * time.Second

// Part waits until the engine has left a Swarm's network, which it does some time
// after its last container there has been removed. One that has others' containers on
// it stays, and that is no error.
func (e *Engine) Part(ctx context.Context, network string) error {
	for deadline := time.Now().Add(partWithin); ; {
		on, err := e.Heard(ctx, network, e)
		if err != nil || !on || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(leaving):
		}
	}
}
