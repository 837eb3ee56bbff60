//go:build !linux

package guest

import "tare/internal/linuxnet"

// Init always fails on this system.
func Init([]string) error { return linuxnet.ErrSystem }
