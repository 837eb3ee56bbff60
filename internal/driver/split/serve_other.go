//go:build !linux

package split

import (
	"io"

	"tare/internal/driver/labdriver"
	"tare/internal/linuxnet"
)

// Serve returns ErrSystem: halves are built on Linux.
func Serve(io.Reader, io.Writer, string, string, []labdriver.Driver) error { return linuxnet.ErrSystem }

// Enter returns ErrSystem.
func Enter([]string) error { return linuxnet.ErrSystem }
