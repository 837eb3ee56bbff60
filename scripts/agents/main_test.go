package main

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"tare/internal/testkit/must"
)

// The identity changes with every file of the programs, and with nothing else.
func TestIdentify(t *testing.T) {
	sources := func(change map[string]string) fstest.MapFS {
		files := map[string]string{"go.mod": "module m", "go.sum": "", "cmd/x/main.go": "package main", "internal/a/a.go": "package a", "studies/s.yaml": "a: 1"}
		maps.Copy(files, change)
		fsys := fstest.MapFS{}
		for name, text := range files {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		return fsys
	}
	id := func(change map[string]string) string {
		got, err := identify(sources(change))
		must.Require(t, err == nil && len(got) == 16, "%q: %v", got, err)
		return got
	}
	same := id(nil)
	for name, c := range map[string]struct {
		file, text string
		same       bool
	}{
		"source":   {"internal/a/a.go", "package a // other", false},
		"new":      {"internal/a/b.go", "", false},
		"embedded": {"studies/s.yaml", "a: 2", false},
		"library":  {"go.mod", "module m2", false},
		"test":     {"internal/a/a_test.go", "package a", true},
		"testdata": {"internal/a/testdata/x", "x", true},
		"made":     {into + "/linux_amd64.gz", "x", true},
		"identity": {into + "/id.txt", "x", true},
		"package":  {into + "/path.go", "x", false},
		"docs":     {"docs/x.md", "x", true},
	} {
		if got := id(map[string]string{c.file: c.text}); (got == same) != c.same {
			t.Errorf("%s: %s and %s", name, got, same)
		}
	}
	must.FailFor(t, "no sources have an identity", must.Err(identify(fstest.MapFS{})))
}

// A file is replaced as a whole, and left alone if it has that content already.
func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"one", "two"} {
		must.Do(t, store(path, []byte(text)))
		before := must.Get(os.Stat(path))(t)
		must.Do(t, store(path, []byte(text)))
		after, err := os.Stat(path)
		must.True(t, err == nil && os.SameFile(before, after), "%s was written again (%v)", text, err)
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("got %q: %v", got, err)
		}
	}
	must.Equal(t, 1, len(must.Get(os.ReadDir(filepath.Dir(path)))(t)))
}

func TestRunFails(t *testing.T) {
	t.Chdir(t.TempDir())
	must.FailFor(t, "it ran without sources", run([]string{"linux/amd64"}))
}
