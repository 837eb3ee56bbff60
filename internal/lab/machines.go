//go:build linux

package lab

import (
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/runid"
)

// emulatorRun returns the run's id from the command line of an emulator that runs one of its
// virtual machines. The machine's name begins with Prefix and the id.
func emulatorRun(args []string) (id string, ok bool) {
	at := slices.Index(args, "-name")
	if !strings.HasPrefix(filepath.Base(args[0]), "qemu-system-") || at < 0 || at+1 == len(args) {
		return "", false
	}
	name, ours := strings.CutPrefix(args[at+1], Prefix)
	id, _, _ = strings.Cut(name, "-")
	return id, ours && runid.IsID(id)
}
