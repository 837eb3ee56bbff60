//go:build !linux

package kubetest

// First does nothing: only Linux has nodes.
func First() {}
