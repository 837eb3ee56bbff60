//go:build linux

package lab_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/lab"
	"tare/internal/testkit/must"
)

// Of all that is in the temporary directory, only directories with the mark of their run are removed, whatever
// the name, kind and owner of the rest.
func TestOnlyMarkedIsRemoved(t *testing.T) {
	const run, other = "deadbeef", "20261125"
	root := os.Geteuid() == 0
	base := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		tmp := must.Get(os.MkdirTemp(base, "marks"))(t)
		t.Setenv("TMPDIR", tmp)
		marked := map[string]bool{}
		for range rapid.IntRange(1, 12).Draw(r, "entries") {
			name := lab.Prefix + rapid.SampledFrom([]string{run, other, "deadbee", "DEADBEEF"}).Draw(r, "id") +
				rapid.StringMatching(`(-[a-z]{0,4}){0,2}(-machine|-ssh|-file)?`).Draw(r, "rest")
			path := filepath.Join(tmp, name)
			if _, err := os.Lstat(path); err == nil {
				continue
			}
			switch rapid.SampledFrom([]string{"file", "link", "directory", "directory", "directory"}).Draw(r, "kind") {
			case "file":
				must.Do(t, os.WriteFile(path, nil, 0o600))
			case "link":
				must.Do(t, os.Symlink(tmp, path))
			case "directory":
				must.Do(t, os.MkdirAll(filepath.Join(path, "sub"), 0o700))
				mark := rapid.SampledFrom([]string{"", run, other}).Draw(r, "mark")
				if mark != "" {
					must.Do(t, lab.Mark(path, mark))
				}
				if root && rapid.Bool().Draw(r, "foreign") {
					must.Do(t, os.Lchown(path, nobody, nobody))
					if mark != "" && rapid.Bool().Draw(r, "with its mark") {
						must.Do(t, os.Lchown(filepath.Join(path, ".tare-run"), nobody, nobody))
					} else {
						mark = ""
					}
				}
				// The mark is of the run in the name, which something follows.
				marked[path] = mark != "" && strings.HasPrefix(name, lab.Prefix+mark+"-")
			}
			if _, ok := marked[path]; !ok {
				marked[path] = false
			}
		}
		for _, l := range must.Get(lab.Leftovers())(t) {
			path, ok := strings.CutPrefix(l.What, "directory ")
			if !ok || filepath.Dir(path) != tmp {
				continue // of this machine
			}
			if l.Unmarked == marked[path] {
				r.Errorf("%s: unmarked %t", path, l.Unmarked)
			}
			must.Equal(t, nil, l.Remove())
		}
		for path, is := range marked {
			if _, err := os.Lstat(path); (err != nil) != is {
				r.Errorf("%s with a mark %t: %v", path, is, err)
			}
		}
	})
}
