//go:build !linux

package engine

import (
	"fmt"

	"tare/internal/linuxnet"
)

// Namespace always fails: this system has no network namespaces.
func (c *Container) Namespace() (*linuxnet.NS, error) {
	return nil, fmt.Errorf("enter container %s: %w", c.Name, linuxnet.ErrSystem)
}
