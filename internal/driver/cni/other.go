//go:build !linux

package cni

import (
	"io"

	"tare/internal/linuxnet"
)

// Serve returns ErrSystem.
func Serve(io.Reader, io.Writer) error { return linuxnet.ErrSystem }
