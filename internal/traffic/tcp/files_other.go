//go:build !linux && !darwin

package tcp

// checkFileLimit does nothing: this system has no separate limit on open sockets.
func checkFileLimit(int) error { return nil }
