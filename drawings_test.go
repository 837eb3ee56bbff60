package tare_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/topologygolden"
	"tare/internal/must"
	"tare/internal/report"
	"tare/internal/target"
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
	for _, m := range target.Modes() {
		drawing(t, m)
		want[svgOf(m.ID)] = true
	}
	files := must.Get(filepath.Glob("docs/modes/figures/*.svg"))(t)
	for _, f := range files {
		if !want[filepath.Base(f)] {
			t.Errorf("%s belongs to no mode", f)
		}
	}
}

func svgOf(mode string) string {
	return strings.TrimSuffix(topologygolden.File(mode), ".json") + ".svg"
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
	page, err := os.ReadFile(filepath.Join("docs/modes", strings.TrimSuffix(svgOf(m.ID), ".svg")+".md"))
	if err != nil {
		t.Error(err)
	}
	if !strings.Contains(string(page), "](figures/"+svgOf(m.ID)+")") {
		t.Errorf("the page of %s does not show figures/%s", m.ID, svgOf(m.ID))
	}
}

// The index of the documentation lists every mode with the driver's description.
func TestModesIndex(t *testing.T) {
	const file, head, after = "docs/README.md", "## Modes\n\n", "\n## Workloads\n"
	page := must.Get(os.ReadFile(file))(t)
	begin, rest, found := strings.Cut(string(page), head)
	_, end, foundEnd := strings.Cut(rest, after)
	if !found || !foundEnd {
		t.Fatalf("%s has no part between %q and %q", file, head, after)
	}
	table := "| page | what is built | baseline |\n|---|---|---|\n"
	for _, m := range target.Modes() {
		baseline := m.Baseline
		if baseline != "" {
			baseline += " "
		}
		table += fmt.Sprintf("| [%s](modes/%s.md) | %s | %s|\n", m.ID, strings.TrimSuffix(svgOf(m.ID), ".svg"), m.Title, baseline)
	}
	generated(t, file, begin+head+table+after+end)
}
