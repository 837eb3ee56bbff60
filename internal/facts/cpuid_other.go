//go:build !amd64

package facts

// cpuidSignatures returns nil: only x86 CPUs have the instruction.
func cpuidSignatures() []string { return nil }
