package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/runid"
	"tare/internal/testkit/must"
)

// FuzzCommandLine checks that of the command lines of foreign processes, which choose them freely,
// only those with the form of this program's belong to a run, and that any of their stat files can
// be read: gc ends what belongs to a dead run.
func FuzzCommandLine(f *testing.F) {
	f.Add("tare\x00agent\x00--run\x000123abcd\x00--at\x00host@a\x00", "12 (tare) S 1 12")
	f.Add("/usr/bin/qemu-system-x86_64\x00-name\x00tare-0123abcd-vm\x00", "12 (a) b) S")
	f.Add("qemu-system-\x00-name", "")
	f.Add("tare\x00agent\x00--run\x00../../..\x00", ")")
	f.Add("tare\x00hold\x00--run\x000123abcd\x00", "12 (tare) S 1 12")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, line, stat string) {
		for name, text := range map[string]string{"cmdline": line, "stat": stat, "exe": ""} {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		id, ok := subcommandRun(dir)
		must.True(t, !ok || runid.IsID(id) && strings.Contains(line, id) && (strings.HasPrefix(line, "tare\x00") && !strings.HasPrefix(line, "tare\x00hold\x00") || strings.Contains(line, Prefix+id)), "%q belongs to run %q", line, id)
		hasController(dir, os.Getuid())
	})
}
