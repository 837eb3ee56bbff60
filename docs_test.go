package tare_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that a page of docs points at exists, by that very name: a claim whose
// test went away has to go with it.
func TestDocsNameTests(t *testing.T) {
	defined := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+|Fuzz\w+|Benchmark\w+)\(`)
	for _, f := range sources(t) {
		if !strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			defined[m[1]] = true
		}
	}
	cited := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)`")
	pages := map[string]int{}
	err := filepath.WalkDir("docs", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range cited.FindAllStringSubmatch(string(text), -1) {
			if name := m[1]; !defined[name] && name != "TestName" {
				t.Errorf("%s points at %s, and there is no such test", path, name)
			}
			pages[path]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := pages["docs/method.md"]; n < 40 {
		t.Errorf("docs/method.md points at only %d tests", n)
	}
}
