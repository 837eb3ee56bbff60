//go:build !linux

package agentfile

import (
	"errors"
	"runtime"
)

// Path returns an error: the whole program is the agent on this system.
func Path() (string, error) {
	return "", errors.New("programs are executed from memory on Linux only, and this is " + runtime.GOOS)
}
