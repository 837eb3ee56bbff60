//go:build !linux

package linuxnet

import (
	"errors"
	"os/exec"
	"time"
)

// NS is a network namespace. They exist on Linux only.
type NS struct{}

// Inside reports whether RunInUserNamespace started this process: never.
func Inside() bool { return false }

// RealRoot reports whether this process is the root of a Linux machine: never.
func RealRoot() bool { return false }

// Try returns ErrSystem.
func Try() error { return ErrSystem }

// RunInUserNamespace returns ErrSystem.
func RunInUserNamespace(*exec.Cmd) (int, error) { return 0, ErrSystem }

// EndWithParent does nothing.
func EndWithParent() {}

// ErrNoConnection is the error for a process without an established TCP connection.
var ErrNoConnection = errors.New("the process has no established TCP connection")

// ShortestRTT returns ErrSystem.
func ShortestRTT(int) (time.Duration, error) { return 0, ErrSystem }
