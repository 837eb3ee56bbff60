//go:build !linux

package private

import (
	"context"

	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// initProcess is what only Linux has.
type initProcess struct{}

// MissingRequirements says why no private engine can be had here.
func MissingRequirements(context.Context) error { return linuxnet.ErrSystem }

// Programs lists nothing: there are no private engines here.
func Programs(context.Context) []result.Fact { return nil }

// StartBoth says why there are no private engines here.
func StartBoth(context.Context, *lab.Lab) (a, b *Engine, err error) {
	return nil, nil, linuxnet.ErrSystem
}

// Start says why there is no private engine here.
func Start(context.Context, *lab.Lab, *lab.Host, ...string) (*Engine, error) {
	return nil, linuxnet.ErrSystem
}

// Close has nothing to end.
func (p *Engine) Close() error { return nil }

// Init says why there is no engine to begin.
func Init([]string) error { return linuxnet.ErrSystem }

// Exec is where the engine keeps what runs: nowhere here.
func (p *Engine) Exec() string { return "" }

// Root is no process: nothing was started.
func (p *Engine) Root() int { return 0 }

// Done never tells of an end: nothing was started.
func (p *Engine) Done() <-chan struct{} { return nil }

// Leftovers finds nothing: no engine was here to leave it.
func Leftovers([]string) ([]engine.Leftover, error) { return nil, nil }

// ShareCPU has nothing to move: there is no container here.
func (p *Engine) ShareCPU(*engine.Container) (moved int, held bool, err error) { return 0, true, nil }

// JoinCPUGroup has no groups to make here.
func JoinCPUGroup(string) (leave func() error, err error) { return func() error { return nil }, nil }
