//go:build !linux

package guest

import "tare/internal/linuxnet"

// Init says why this is no guest.
func Init([]string) error { return linuxnet.ErrSystem }
