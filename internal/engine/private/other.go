//go:build !linux

package private

import (
	"context"

	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/runid"
)

// initProcess exists on Linux only.
type initProcess struct{}

// MissingRequirements returns why there are no private engines on this system.
func MissingRequirements(context.Context) error { return linuxnet.ErrSystem }

// Programs returns nothing: there are no private engines on this system.
func Programs(context.Context) []result.Fact { return nil }

// Programs returns nothing: there are no private engines on this system.
func (Installation) Programs(context.Context) []result.Fact { return nil }

// Describe returns nothing: there are no private engines on this system.
func (Installation) Describe(context.Context) Description { return Description{} }

// MissingRequirements returns why there are no private engines on this system.
func (Config) MissingRequirements(context.Context) error { return linuxnet.ErrSystem }

// StartBoth always fails on this system.
func StartBoth(context.Context, *lab.Lab) (a, b *Engine, err error) {
	return nil, nil, linuxnet.ErrSystem
}

// Start always fails on this system.
func Start(context.Context, *lab.Lab, *lab.Host, ...string) (*Engine, error) {
	return nil, linuxnet.ErrSystem
}

// Explain returns err: no engine was started.
func (p *Engine) Explain(err error) error { return err }

// Firewall returns "": no engine was started.
func (p *Engine) Firewall() string { return "" }

// Close does nothing.
func (p *Engine) Close() error { return nil }

// Exec returns "": no engine was started.
func (p *Engine) Exec() string { return "" }

// Root returns 0: no engine was started.
func (p *Engine) Root() int { return 0 }

// RootlessNetwork always fails on this system.
func (p *Engine) RootlessNetwork() (*linuxnet.NS, error) { return nil, linuxnet.ErrSystem }

// Done returns a channel that is never closed: no engine was started.
func (p *Engine) Done() <-chan struct{} { return nil }

// Leftovers returns nothing: no engine can have run on this system.
func Leftovers(runid.Claims) ([]engine.Leftover, error) { return nil, nil }

// ShareCPU does nothing: there are no containers on this system.
func (p *Engine) ShareCPU(*engine.Container) (moved int, held bool, err error) { return 0, true, nil }

// JoinCPUGroup does nothing on this system.
func JoinCPUGroup(string) (leave func() error, err error) { return func() error { return nil }, nil }

// FindPodman always fails on this system.
func FindPodman(context.Context, string, ...string) (Podman, error) {
	return Podman{}, linuxnet.ErrSystem
}

// DescribePodman always fails on this system.
func DescribePodman(context.Context) (Podman, error) { return Podman{}, linuxnet.ErrSystem }

// Start always fails on this system.
func (c Podman) Start(context.Context, *lab.Lab, *lab.Host) (*Engine, PodmanInfo, error) {
	return nil, PodmanInfo{}, linuxnet.ErrSystem
}
