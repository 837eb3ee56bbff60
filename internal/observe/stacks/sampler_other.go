//go:build !linux

package stacks

import (
	"fmt"

	"tare/internal/observe"
)

// Sampler samples the stacks of all CPUs of a machine, on Linux.
type Sampler struct{}

// Open returns an error: only Linux has perf events.
func Open(string, observe.Own) (*Sampler, error) {
	return nil, fmt.Errorf("%w: sampling uses Linux perf events, and this is another system", ErrUnavailable)
}

// Start does nothing.
func (*Sampler) Start(*Samples) error { return nil }

// Pause does nothing.
func (*Sampler) Pause() error { return nil }

// Identify does nothing.
func (*Sampler) Identify() error { return nil }

// Profile returns ErrUnavailable.
func (*Sampler) Profile(*Samples) (Profile, error) { return Profile{}, ErrUnavailable }

// Close does nothing.
func (*Sampler) Close() error { return nil }
