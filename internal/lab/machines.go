//go:build linux

package lab

import (
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/runid"
)

// emulatorRun reads a command line as that of an emulator with a virtual machine of a run,
// whose name begins as that of everything a run makes.
func emulatorRun(args []string) (id string, ok bool) {
	at := slices.Index(args, "-name")
	if !strings.HasPrefix(filepath.Base(args[0]), "qemu-system-") || at < 0 || at+1 == len(args) {
		return "", false
	}
	name, ours := strings.CutPrefix(args[at+1], Prefix)
	id, _, _ = strings.Cut(name, "-")
	return id, ours && runid.IsID(id)
}
