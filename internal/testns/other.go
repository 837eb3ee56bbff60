//go:build !linux

package testns

import "context"

// Main runs the tests of a package where they are.
func Main(_ context.Context, run func() int) int { return run() }

// First does nothing.
func First() {}
