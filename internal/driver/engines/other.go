//go:build !linux

package engines

import (
	"context"

	"tare/internal/linuxnet"
)

// path exists on Linux only. Elsewhere the modes are listed, and none is built.
type path struct{}

func (recipe) build(context.Context, *path) error { return linuxnet.ErrSystem }
