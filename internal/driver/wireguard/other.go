//go:build !linux

package wireguard

import (
	"io"

	"tare/internal/linuxnet"
)

// Serve says why there can be no tunnel.
func Serve(io.Reader, io.Writer) error { return linuxnet.ErrSystem }
