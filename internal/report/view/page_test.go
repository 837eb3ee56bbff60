package view

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// docs/report.md has a line for each section of a page: its heading, as a run has it, and what it shows.
func TestReportPage(t *testing.T) {
	const file, heading, begin, end = "../../../docs/report.md", "\n## report.html\n", "<!-- generated: make drawings -->\n", "<!-- end -->\n"
	table := "| section | content |\n|---|---|\n"
	for _, p := range parts() {
		shown := p.shows
		if shown == "" {
			must.True(t, !p.on.Has(doc.HTML), "a section of the page has no line for docs/report.md")
			continue
		}
		if !strings.Contains(shown, " | ") {
			shown = headingOf(t, p) + " | " + shown
		}
		table += "| " + shown + " |\n"
	}
	text := string(must.Get(os.ReadFile(file))(t))
	before, rest, one := strings.Cut(text, heading)
	above, rest, two := strings.Cut(rest, begin)
	_, after, three := strings.Cut(rest, end)
	must.Require(t, one && two && three, "%s has no generated part below %q", file, heading)
	must.File(t, file, before+heading+above+begin+table+end+after, *update)
}

// headingOf is the heading of a section in the first of the runs to test reports with that has it.
func headingOf(t *testing.T, p part) string {
	t.Helper()
	inputs := reports.Inputs()
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		for _, b := range p.blocks(model.NewBuilder(model.New(inputs[name]))) {
			if s, ok := b.(doc.Section); ok && s.Head.Text != "" {
				return s.Head.Text
			}
		}
	}
	t.Errorf("no run of package reports has the section that shows %q", p.shows)
	return ""
}
