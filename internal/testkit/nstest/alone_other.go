//go:build !linux

package nstest

// Alone does nothing.
func Alone() {}
