package tare_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The tests that docs/security.md names as PACKAGE.TEST exist, and each threat has one.
func TestThreatsHaveTests(t *testing.T) {
	text, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	defined := testsByPackage(t)
	cited := regexp.MustCompile("`([\\w/]+\\.(?:Test|Fuzz)\\w+)`")
	page := string(text)
	for _, m := range cited.FindAllStringSubmatch(page, -1) {
		if !slices.Contains(defined, m[1]) {
			t.Errorf("docs/security.md names %s, which does not exist", m[1])
		}
	}
	_, threats, found := strings.Cut(page, "\n## Threats\n")
	threats, _, _ = strings.Cut(threats, "\n## ")
	rows := 0
	for line := range strings.Lines(threats) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| who |") {
			continue
		}
		if rows++; !strings.Contains(line, ".Test") && !strings.Contains(line, ".Fuzz") && !strings.Contains(line, "form only: `Test") {
			t.Errorf("no test holds the line %s", line)
		}
	}
	if !found || rows < 20 {
		t.Errorf("docs/security.md has %d threats", rows)
	}
}

// The table of what is read from elsewhere has every fuzz target.
func TestFuzzTargetsAreListed(t *testing.T) {
	text, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n## What is read from elsewhere\n")
	if !found {
		t.Fatal("docs/security.md lacks the table of what is read from elsewhere")
	}
	n := 0
	for _, name := range testsByPackage(t) {
		if strings.Contains(name, ".Fuzz") {
			if n++; !strings.Contains(table, "`"+name+"`") {
				t.Errorf("the table lacks %s", name)
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d fuzz targets were found", n)
	}
}

// testsByPackage lists all tests and fuzz targets as PACKAGE.NAME, without internal/.
func testsByPackage(t *testing.T) (all []string) {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, f := range sources(t) {
		if !strings.HasSuffix(f.path, "_test.go") || within(f.dir, "scripts") {
			continue
		}
		text, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			all = append(all, strings.TrimPrefix(filepath.ToSlash(f.dir), "internal/")+"."+m[1])
		}
	}
	return all
}
