//go:build !linux

package transport

import "os"

// self is the file that this program was started from.
func self() (string, error) { return os.Executable() }
