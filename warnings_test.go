package tare_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/tool"
	"tare/internal/warning"
)

// table is the table of a section, as the pages have it.
func table(section warning.Section) string {
	var out strings.Builder
	if section == warning.Tools {
		out.WriteString("| code | severity | when |\n|---|---|---|\n")
	} else {
		out.WriteString("| code | severity | scope | when | what it does to the result | fix |\n|---|---|---|---|---|---|\n")
	}
	for _, e := range warning.All() {
		switch {
		case e.Section != section:
		case section == warning.Tools:
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", e.Code, e.Severity, e.When)
		default:
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s | %s |\n", e.Code, e.Severity, e.Scope, e.When, e.Effect, e.Fix)
		}
	}
	return out.String()
}

// docs/tools.md has the table of what external tools do not support.
func TestToolsPage(t *testing.T) {
	table := "| parameter | value | with `tool` or `verify_with` |\n|---|---|---|\n"
	for _, l := range tool.Lacks() {
		effect := "ignored (`tool_ignored`)"
		if l.Refused {
			effect = "the study is refused"
		}
		if len(l.Tools) > 0 {
			effect = "with `" + strings.Join(l.Tools, "`, `") + "`: " + effect
		}
		table += fmt.Sprintf("| `%s` | %s | %s |\n", l.Key, l.Value, effect)
	}
	generatedBelow(t, "docs/tools.md", "## What differs", table)
}

// docs/warnings.md has a table for each section of the registry, and docs/tools.md that of
// external tools, with exactly the entries of the registry in its order.
func TestWarningPages(t *testing.T) {
	for _, of := range []struct {
		page     string
		sections []warning.Section
	}{
		{"docs/warnings.md", []warning.Section{warning.Verdicts, warning.Traffic, warning.Run, warning.Machine, warning.Existing, warning.Link, warning.Foreign}},
		{"docs/tools.md", []warning.Section{warning.Tools}},
	} {
		text := must.Get(os.ReadFile(of.page))(t)
		page := string(text)
		for _, section := range of.sections {
			heading := "# " + string(section) + "\n"
			if section == warning.Tools {
				heading = "# Notes\n"
			}
			before, below, found := strings.Cut(page, heading)
			at := strings.Index(below, "| code |")
			if !found || at < 0 {
				t.Errorf("%s has no table below %q", of.page, heading)
				continue
			}
			end := at
			for line := range strings.Lines(below[at:]) {
				if !strings.HasPrefix(line, "|") {
					break
				}
				end += len(line)
			}
			page = before + heading + below[:at] + table(section) + below[end:]
		}
		generated(t, of.page, page)
	}
	known := map[warning.Code]bool{}
	for _, e := range warning.All() {
		must.True(t, !known[e.Code], "%s is in the registry twice", e.Code)
		known[e.Code] = true
	}
	must.Require(t, len(known) >= 90, "only %d codes are in the registry", len(known))
}

// Every warning takes its code from the registry, and every code of the registry is used.
func TestWarningsAreOfTheRegistry(t *testing.T) {
	constants := map[string]string{} // by code
	for _, f := range sources(t) {
		if f.dir != "internal/warning" {
			continue
		}
		text := must.Get(os.ReadFile(f.path))(t)
		for _, m := range regexp.MustCompile(`(?m)^\t(\w+)\s+Code = "(\w+)"$`).FindAllStringSubmatch(string(text), -1) {
			constants[m[2]] = m[1]
		}
	}
	used, valued := map[string]bool{}, map[string]bool{}
	name := regexp.MustCompile(`warning\.([A-Z]\w*)`)
	literal := regexp.MustCompile(`(?:warn|warnExisting)\("|(?:Warning|Note)\{(?:Code: )?"`)
	for _, f := range sources(t) {
		if strings.HasSuffix(f.path, "_test.go") || !within(f.dir, "internal") || within(f.dir, "internal/warning") {
			continue
		}
		text := must.Get(os.ReadFile(f.path))(t)
		for _, m := range name.FindAllStringSubmatch(string(text), -1) {
			used[m[1]] = true
			valued[m[1]] = valued[m[1]] || strings.Contains(string(text), "warning.Said(") || strings.Contains(string(text), "result.NewValues(")
		}
		if m := literal.Find(text); m != nil {
			t.Errorf("%s: %s... gives a warning with a code that is not in the registry", f.path, m)
		}
	}
	all := warning.All()
	for _, e := range all {
		if c := constants[string(e.Code)]; !used[c] {
			t.Errorf("nothing gives %s", e.Code)
		} else if e.Say != "" && !valued[c] {
			t.Errorf("nothing gives %s its values", e.Code)
		}
	}
	for code := range constants {
		must.True(t, slices.ContainsFunc(all, func(e warning.Entry) bool { return string(e.Code) == code }), "warning.All lacks %s", code)
	}
}
