//go:build !linux

package linuxnet

import (
	"context"
)

// NS is a network namespace. They exist on Linux only.
type NS struct{}

// Inside reports whether Reexec started this process: never.
func Inside() bool { return false }

// RealRoot reports whether this process is the root of a Linux machine: never.
func RealRoot() bool { return false }

// Try returns ErrSystem.
func Try() error { return ErrSystem }

// Reexec returns ErrSystem.
func Reexec(context.Context) (int, error) { return 0, ErrSystem }

// EndWithParent does nothing.
func EndWithParent() {}
