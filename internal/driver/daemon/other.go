//go:build !linux

package daemon

import (
	"io"

	"tare/internal/linuxnet"
)

// Init returns ErrSystem.
func Init([]string, io.Reader) error { return linuxnet.ErrSystem }
