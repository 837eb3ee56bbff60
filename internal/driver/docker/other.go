//go:build !linux

package docker

// path is what only Linux has.
type path struct{}
