//go:build !linux

package testns

import "context"

// Main runs the tests of a package where they are.
func Main(_ context.Context, run func() int) int { return run() }

// Sweep removes nothing.
func Sweep() error { return nil }

// First does nothing.
func First() {}
