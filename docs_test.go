package tare_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that a page under docs names exists. A claim is removed together with its test.
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
				t.Errorf("%s names the test %s, which does not exist", path, name)
			}
			pages[path]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := pages["docs/method.md"]; n < 40 {
		t.Errorf("docs/method.md names only %d tests; want at least 40", n)
	}
}
