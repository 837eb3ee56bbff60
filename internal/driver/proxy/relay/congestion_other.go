//go:build !linux

package relay

import "syscall"

// control leaves a socket as it is.
func control(_, _ string, _ syscall.RawConn) error { return nil }

// readCongestion returns no name: only Linux tells it.
func readCongestion(syscall.Conn) (string, error) { return "", nil }
