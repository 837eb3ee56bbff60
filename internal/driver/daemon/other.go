//go:build !linux

package daemon

import (
	"io"

	"tare/internal/linuxnet"
)

// Init says why there is nothing to be the first process of.
func Init([]string, io.Reader) error { return linuxnet.ErrSystem }
