package tare_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/setting"
	"tare/internal/driver/topologygolden"
	"tare/internal/hosts"
	"tare/internal/report"
	"tare/internal/testkit/must"
)

var updateDrawings = flag.Bool("update-drawings", false, "write the generated files of docs")

// generated fails unless a file has the text that it is generated with; with -update-drawings it writes the file.
func generated(t *testing.T, file, want string) {
	t.Helper()
	if *updateDrawings {
		must.Do(t, os.WriteFile(file, []byte(want), 0o644))
	}
	have := must.Get(os.ReadFile(file))(t)
	must.EqualFor(t, fmt.Sprintf("%s is out of date; `make drawings` writes it", file), string(have), want)
}

// The page of every mode shows its path, drawn from the topology that its driver builds. The
// drivers' conformance tests check that topology.
func TestModeDrawings(t *testing.T) {
	want := map[string]bool{}
	for _, m := range hosts.Modes() {
		drawing(t, m)
		want[svgOf(m.ID)] = true
	}
	files := must.Get(filepath.Glob("docs/modes/figures/*.svg"))(t)
	for _, f := range files {
		must.True(t, want[filepath.Base(f)], "%s belongs to no mode", f)
	}
}

func svgOf(mode string) string {
	return strings.TrimSuffix(topologygolden.File(mode), ".json") + ".svg"
}

// pageOf is the page of a mode below docs/modes: that of its driver, or one of its own.
func pageOf(mode string) string {
	driver, _, _ := strings.Cut(mode, "/")
	if _, err := os.Stat(filepath.Join("docs/modes", driver+".md")); err == nil {
		return driver + ".md"
	}
	return strings.TrimSuffix(svgOf(mode), ".svg") + ".md"
}

func drawing(t *testing.T, m driver.Mode) {
	t.Helper()
	p, err := topologygolden.ForMode(m.ID)
	if err != nil {
		t.Errorf("%v: `make drawings` writes it where the mode can be built", err)
		return
	}
	svg := report.PathFigure(p.UnmeasuredMode(m.ID, m.Title))
	file := filepath.Join("docs/modes/figures", svgOf(m.ID))
	generated(t, file, string(svg))
	page, err := os.ReadFile(filepath.Join("docs/modes", pageOf(m.ID)))
	must.True(t, err == nil, "%v", err)
	if !strings.Contains(string(page), "](figures/"+svgOf(m.ID)+")") {
		t.Errorf("the page of %s does not show figures/%s", m.ID, svgOf(m.ID))
	}
}

// The index of the documentation lists every page with its modes.
func TestModesIndex(t *testing.T) {
	table := "| page | modes |\n|---|---|\n"
	pages, modes := []string{}, map[string][]string{}
	for _, m := range hosts.Modes() {
		p := pageOf(m.ID)
		if modes[p] == nil {
			pages = append(pages, p)
		}
		modes[p] = append(modes[p], "`"+m.ID+"`")
	}
	for _, p := range pages {
		title, _, _ := strings.Cut(string(must.Get(os.ReadFile(filepath.Join("docs/modes", p)))(t)), "\n")
		table += fmt.Sprintf("| [%s](modes/%s) | %s |\n", strings.TrimPrefix(title, "# "), p, strings.Join(modes[p], ", "))
	}
	generatedPart(t, "docs/README.md", table)
}

// The page of a driver has the parts that can be left out of its modes.
func TestModePartsPages(t *testing.T) {
	type part struct{ id, title string }
	parts, of, all := map[string][]part{}, map[string]map[part][]string{}, map[string][]string{}
	for _, m := range hosts.Modes() {
		page := pageOf(m.ID)
		if of[page] == nil {
			of[page] = map[part][]string{}
		}
		_, name, _ := strings.Cut(m.ID, "/")
		all[page] = append(all[page], name)
		for _, p := range m.Parts {
			p := part{p.ID, p.Title}
			if of[page][p] == nil {
				parts[page] = append(parts[page], p)
			}
			of[page][p] = append(of[page][p], name)
		}
	}
	for page, parts := range parts {
		table := "| part | what it is | of |\n|---|---|---|\n"
		for _, p := range parts {
			table += fmt.Sprintf("| `%s` | %s | %s |\n", p.id, cell(p.title), modesIn(of[page][p], all[page]))
		}
		generatedBelow(t, filepath.Join("docs/modes", page), "\n## Parts that can be left out\n", table)
	}
}

// modesIn names modes among all of a page, by those that are not among them where these are few.
func modesIn(some, all []string) string {
	rest := slices.DeleteFunc(slices.Clone(all), func(m string) bool { return slices.Contains(some, m) })
	switch {
	case len(rest) == 0:
		return "all"
	case len(rest) < len(some)/3:
		return "all but " + strings.Join(rest, ", ")
	}
	return strings.Join(some, ", ")
}

// The page of the settings lists them with what each does and its values.
func TestSettingsPage(t *testing.T) {
	table := "| setting | what it does | values |\n|---|---|---|\n"
	for _, s := range setting.All() {
		table += fmt.Sprintf("| [%s](#%s) | %s | %s |\n", s.Name, s.Name, cell(s.Title), cell(s.Values))
	}
	generatedPart(t, "docs/settings/README.md", table)
}
