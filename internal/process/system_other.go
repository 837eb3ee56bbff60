//go:build !linux

package process

import (
	"os"
	"syscall"
)

// tie cannot be had here.
func tie(*syscall.SysProcAttr) {}

// self is the file that this program was started from.
func self() (string, error) { return os.Executable() }
