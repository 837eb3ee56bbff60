package guest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/lab"
	"tare/internal/testkit/must"
)

// The console of a guest that failed goes into a new file that nobody else can read or have put
// there, and that gc removes.
func TestConsoleIsKept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	victim := filepath.Join(t.TempDir(), "victim")
	must.Do(t, os.WriteFile(victim, []byte("mine"), 0o600))
	// What another user who knows the run's id can put there.
	must.Do(t, os.Symlink(victim, filepath.Join(os.TempDir(), "tare-deadbeef-vm.virtio.boot.log")))
	c := &console{}
	c.buf.WriteString("Kernel panic")
	paths := map[string]bool{}
	for range 2 {
		path := must.Get(c.keep("deadbeef", "vm.virtio"))(t)
		paths[path] = true
		text, err := os.ReadFile(path)
		if err != nil || string(text) != "Kernel panic" {
			t.Errorf("%s has %q, %v", path, text, err)
		}
		info, err := os.Lstat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	must.EqualFor(t, "a file that a link led to", "mine", string(must.Get(os.ReadFile(victim))(t)))
	must.EqualFor(t, "consoles", 2, len(paths))
	found := must.Get(lab.Leftovers())(t)
	for path := range paths {
		i := slices.IndexFunc(found, func(l lab.Leftover) bool { return strings.HasSuffix(l.What, " "+filepath.Dir(path)) })
		if i < 0 {
			t.Fatalf("gc does not find %s", path)
		}
		must.Do(t, found[i].Remove())
	}
	must.EqualFor(t, "left", 1, len(must.Get(os.ReadDir(os.TempDir()))(t)))
}
