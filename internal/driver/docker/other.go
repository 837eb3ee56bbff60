//go:build !linux

package docker

// path exists on Linux only.
type path struct{}
