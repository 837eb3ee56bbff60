//go:build !linux

package stacks

import (
	"fmt"
	"time"

	"tare/internal/observe"
)

// Sampler samples the stacks of all CPUs of a machine, on Linux.
type Sampler struct{}

// Open fails: only Linux has perf events.
func Open(string, observe.Own) (*Sampler, error) {
	return nil, fmt.Errorf("%w: they are read by Linux's perf events, and this is another system", ErrUnavailable)
}

// Start does nothing.
func (*Sampler) Start() error { return nil }

// Pause does nothing.
func (*Sampler) Pause() (time.Duration, error) { return 0, nil }

// Stop has nothing to give.
func (*Sampler) Stop(time.Duration) (Profile, error) { return Profile{}, ErrUnavailable }

// Close does nothing.
func (*Sampler) Close() error { return nil }
