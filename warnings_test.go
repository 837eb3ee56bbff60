package tare_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tare/internal/warning"
)

// row is a line of a page's table: what is said of a code.
type row struct{ when, effect, fix string }

// rows are the lines of a page's tables that begin with codes.
func rows(t *testing.T, page string) map[string]row {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]row{}
	quoted := regexp.MustCompile("`([a-z0-9_]+)`")
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			switch len(cells) {
			case 2: // of tools
				out[m[1]] = row{when: cells[1]}
			case 4, 5: // with a scope, or without
				last := cells[len(cells)-3:]
				out[m[1]] = row{last[0], last[1], last[2]}
			}
		}
	}
	return out
}

// The registry says of every code what docs/warnings.md does, or docs/tools.md of those of
// external tools, and the pages have no code that is not in it.
func TestWarningsAreDocumented(t *testing.T) {
	page, tools := rows(t, "docs/warnings.md"), rows(t, "docs/tools.md")
	known := map[string]bool{}
	for _, e := range warning.All() {
		code := string(e.Code)
		if known[code] {
			t.Errorf("%s is in the registry twice", code)
		}
		known[code] = true
		want, there := page[code]
		if there && want.fix == "[tools](tools.md)" { // one line for all of them
			there = false
		}
		if !there {
			want, there = tools[code]
		}
		if got := (row{e.When, e.Effect, e.Fix}); !there || got != want {
			t.Errorf("%s: the registry has\n%q,\nthe page (with a line for it: %t)\n%q", code, got, there, want)
		}
		if e.Severity < warning.Note || e.Severity > warning.Bias {
			t.Errorf("%s is of severity %d", code, e.Severity)
		}
	}
	if len(known) < 90 {
		t.Fatalf("only %d codes are in the registry", len(known))
	}
	for code := range page {
		if !known[code] {
			t.Errorf("docs/warnings.md has a line for %s, which is not in the registry", code)
		}
	}
	for code := range tools {
		if (strings.HasPrefix(code, "tool_") || strings.HasSuffix(code, "_loss")) && !known[code] {
			t.Errorf("docs/tools.md has a line for %s, which is not in the registry", code)
		}
	}
}

// Who gives a warning takes its code from the registry, and every code there is given by
// somebody.
func TestWarningsAreOfTheRegistry(t *testing.T) {
	constants := map[string]string{} // by code
	text, err := os.ReadFile("internal/warning/warning.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+)\s+Code = "(\w+)"$`).FindAllStringSubmatch(string(text), -1) {
		constants[m[2]] = m[1]
	}
	used := map[string]bool{}
	name := regexp.MustCompile(`\bwarning\.([A-Z]\w*)`)
	literal := regexp.MustCompile(`\b(?:warn|warnExisting)\("|\b(?:Warning|Note)\{(?:Code: )?"`)
	for _, f := range sources(t) {
		if strings.HasSuffix(f.path, "_test.go") || !within(f.dir, "internal") || within(f.dir, "internal/warning") {
			continue
		}
		text, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllStringSubmatch(string(text), -1) {
			used[m[1]] = true
		}
		if m := literal.Find(text); m != nil {
			t.Errorf("%s: %s... gives a warning whose code is not of the registry", f.path, m)
		}
	}
	all := warning.All()
	for _, e := range all {
		if c := constants[string(e.Code)]; !used[c] {
			t.Errorf("nothing gives %s", e.Code)
		}
	}
	for code := range constants {
		if !slices.ContainsFunc(all, func(e warning.Entry) bool { return string(e.Code) == code }) {
			t.Errorf("warning.All lacks %s", code)
		}
	}
}
