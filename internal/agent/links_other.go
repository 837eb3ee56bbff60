//go:build !linux

package agent

import (
	"errors"

	"tare/internal/agent/wire"
)

// readLinks is asked only of agents in containers, which are Linux.
func readLinks() ([]wire.Link, error) {
	return nil, errors.New("read devices: only Linux is read so far")
}
