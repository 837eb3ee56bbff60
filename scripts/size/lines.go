package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// testOnly lists the folders whose packages only tests, builds and benchmarks use.
func testOnly() []string {
	return []string{"bench", "internal/browser", "internal/faults", "internal/guest/inside", "internal/testkit", "internal/tool/inlab", "internal/traffic/hostile", "scripts", "tools"}
}

// count is how many lines of Go a room has: those that ship, those of tests, and those of packages that only
// tests use, with their own tests.
type count struct{ ships, tests, only int }

// lines returns the table of the Go files that git knows, as they are on disk. Errors: no git, or a file that
// cannot be read.
func lines() (string, error) {
	list, err := exec.CommandContext(context.Background(), "git", "ls-files", "-z", "--", "*.go").Output()
	if err != nil {
		return "", fmt.Errorf("list the files that git knows: %w", err)
	}
	rooms := map[string]count{}
	for file := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("count lines: %w", err)
		}
		rooms[room(file)] = rooms[room(file)].add(file, bytes.Count(text, []byte{'\n'}))
	}
	return lineTable(rooms), nil
}

// room is the top folder of a file below internal, or of the sources.
func room(file string) string {
	parts := strings.Split(path.Dir(file), "/")
	if parts[0] == "internal" {
		return path.Join(parts[:min(2, len(parts))]...)
	}
	return parts[0]
}

func (c count) add(file string, n int) count {
	switch {
	case slices.ContainsFunc(testOnly(), func(dir string) bool { return strings.HasPrefix(file, dir+"/") }):
		c.only += n
	case strings.HasSuffix(file, "_test.go"):
		c.tests += n
	default:
		c.ships += n
	}
	return c
}

func lineTable(rooms map[string]count) string {
	var b strings.Builder
	b.WriteString("| lines of Go | that ship | of tests | of packages only for tests |\n|---|---|---|---|\n")
	var all count
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		c := rooms[name]
		all = count{all.ships + c.ships, all.tests + c.tests, all.only + c.only}
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", name, c.ships, c.tests, c.only)
	}
	fmt.Fprintf(&b, "| all | %d | %d | %d |\n", all.ships, all.tests, all.only)
	return b.String()
}
