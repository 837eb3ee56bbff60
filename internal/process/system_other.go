//go:build !linux

package process

import (
	"os"
	"syscall"
)

// tie does nothing: this system does not support it.
func tie(*syscall.SysProcAttr) {}

// self returns the file from which this program was started.
func self() (string, error) { return os.Executable() }
