//go:build !linux

package vm

type shared struct{}
