//go:build !linux && !windows && !darwin

package agent

import (
	"errors"

	"tare/internal/agent/wire"
)

// readLinks always fails: agents that are asked for devices run in containers, which are Linux.
func readLinks() ([]wire.Link, error) {
	return nil, errors.New("read devices: supported on Linux only")
}
