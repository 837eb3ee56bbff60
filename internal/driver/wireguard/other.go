//go:build !linux

package wireguard

import (
	"io"

	"tare/internal/linuxnet"
)

// Serve returns ErrSystem.
func Serve(io.Reader, io.Writer) error { return linuxnet.ErrSystem }
