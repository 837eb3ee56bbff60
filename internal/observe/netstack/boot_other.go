//go:build !windows && !darwin

package netstack

import (
	"os"
	"path/filepath"
	"strings"
)

// Boot returns the kernel's boot id, or "" if there is none. proc is where procfs is mounted.
func Boot(proc string) string {
	id, err := os.ReadFile(filepath.Join(proc, "sys/kernel/random/boot_id"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
