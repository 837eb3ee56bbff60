//go:build !linux

package tool

import "context"

func readKernel() kernelCount { return kernelCount{} }

func portOpen(uint16, bool) (open, known bool) { return false, false }

// defaultCongestion is unknown on this system.
func defaultCongestion() string { return "" }

func drain(context.Context, uint16) {}

// grantedBufferSize is unknown on this system: the tool itself reports if it is smaller.
func grantedBufferSize(bytes int) int { return bytes }
