package tare_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs/dependencies.md lists exactly the modules of go.mod and of tools/go.mod without a released
// version, each with a reason and with what would replace it.
func TestPseudoVersionsAreListed(t *testing.T) {
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, page, found := strings.Cut(read("docs/dependencies.md"), "### Of the program and its tests")
	program, tools, both := strings.Cut(page, "### Of the tools")
	if !found || !both {
		t.Fatal("docs/dependencies.md lacks a section")
	}
	// A commit's time and hash, as in https://go.dev/ref/mod#pseudo-versions.
	required := regexp.MustCompile(`(?m)^\s+(\S+) (v\S+[-.]\d{14}-[0-9a-f]{12})\b`)
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\| ([^|]{10,}) \\| ([^|]{10,}) \\|$")
	for file, section := range map[string]string{"go.mod": program, "tools/go.mod": tools} {
		want, got := map[string]string{}, map[string]string{}
		for _, m := range required.FindAllStringSubmatch(read(file), -1) {
			want[m[1]] = m[2]
		}
		for _, m := range row.FindAllStringSubmatch(section, -1) {
			got[m[1]] = m[2]
		}
		if len(want) < 5 {
			t.Errorf("%s has only %d pseudo-versions: they are not recognised", file, len(want))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("docs/dependencies.md differs from %s (-%[1]s +page):\n%s", file, diff)
		}
	}
}
