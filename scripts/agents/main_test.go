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
		if err != nil || len(got) != 16 {
			t.Fatalf("%q: %v", got, err)
		}
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
	if _, err := identify(fstest.MapFS{}); err == nil {
		t.Error("no sources have an identity")
	}
}

// A file is replaced as a whole, and left alone if it has that content already.
func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"one", "two"} {
		must.Do(t, store(path, []byte(text)))
		before := must.Get(os.Stat(path))(t)
		must.Do(t, store(path, []byte(text)))
		after, err := os.Stat(path)
		if err != nil || !os.SameFile(before, after) {
			t.Errorf("%s was written again (%v)", text, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("got %q: %v", got, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v: %v", entries, err)
	}
}

func TestRunFails(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := run([]string{"linux/amd64"}); err == nil {
		t.Error("it ran without sources")
	}
}
