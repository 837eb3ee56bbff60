//go:build !linux

package engine

import "os"

// running is the file that this program was started from.
func running() (string, error) { return os.Executable() }
