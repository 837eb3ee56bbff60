package tare_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/must"
	"tare/internal/report"
	"tare/internal/report/wording"
	"tare/internal/result"
	"tare/internal/store"
	"tare/studies"
)

// recordedRun is a run of a built-in study in docs/recorded.
func recordedRun(t *testing.T, study string) result.Run {
	t.Helper()
	file := must.Get(os.Open(filepath.Join("docs", "recorded", study+".json.gz")))(t)
	defer file.Close()
	var run result.Run
	must.Do(t, json.NewDecoder(must.Get(gzip.NewReader(file))(t)).Decode(&run))
	return run
}

// generatedPart is generated for the first part of a file between two marks.
func generatedPart(t *testing.T, file, want string) {
	t.Helper()
	generatedBelow(t, file, "", want)
}

// generatedBelow is generatedPart for the first such part below a heading.
func generatedBelow(t *testing.T, file, heading, want string) {
	t.Helper()
	const begin, end = "<!-- generated: make drawings -->\n", "<!-- end -->\n"
	text := string(must.Get(os.ReadFile(file))(t))
	at := strings.Index(text, heading)
	if at < 0 {
		t.Fatalf("%s has no %q", file, heading)
	}
	before, rest, one := strings.Cut(text[at:], begin)
	_, after, two := strings.Cut(rest, end)
	if !one || !two {
		t.Fatalf("%s has no %q and %q", file, begin, end)
	}
	generated(t, file, text[:at]+before+begin+want+end+after)
}

// README shows the screen of the recorded run of what tare measures by default.
func TestReadmeScreen(t *testing.T) {
	const dir = "tare-runs/20261127-170500-docker"
	run := recordedRun(t, "docker")
	in := report.Input{Run: run, Title: "The overhead of Docker's networks", Page: dir + "/" + store.PageFile, Full: "tare report --full " + dir}
	src, _ := studies.Builtin("docker")
	must.Contain(t, string(src), "title: "+in.Title)
	var screen bytes.Buffer
	must.Do(t, report.Prepare(in).Overview(&screen, report.TextOptions{Width: 100}))
	for _, file := range []string{"README.md", "docs/report.md", "docs/tutorial.md"} {
		generatedPart(t, file, "```text\n"+screen.String()+"```\n")
	}
}

// The page of namespaces says what Docker adds to each, by a run of both.
func TestNamespacesPage(t *testing.T) {
	run := recordedRun(t, "embedded")
	metrics := []string{"goodput", "transaction_rate", "connection_rate"}
	var out strings.Builder
	out.WriteString("| network | goodput | transactions | connections |\n|---|---|---|---|\n")
	rows := 0
	for _, m := range run.Modes {
		for _, id := range []string{m.ID, m.Like} {
			if m.Like == "" || m.Status != result.ModeMeasured || !slices.ContainsFunc(run.Cells, func(c result.Cell) bool { return c.Mode == m.Like }) {
				continue
			}
			fmt.Fprintf(&out, "| `%s` |", id)
			for _, metric := range metrics {
				at := slices.IndexFunc(run.Cells, func(c result.Cell) bool { return c.Mode == id && c.Metric == metric })
				fmt.Fprintf(&out, " %s |", changeOf(run.Cells[at]))
			}
			out.WriteString("\n")
			rows++
		}
	}
	if rows < 8 {
		t.Fatalf("%d rows: the run lacks modes", rows)
	}
	generatedPart(t, "docs/modes/netns.md", out.String())
}

// changeOf is the change of a cell with the time it adds.
func changeOf(c result.Cell) string {
	text, _ := wording.Delta(c.Ratio, nil)
	if c.Added != nil {
		a, _ := wording.Each(*c.Added)
		added, _ := wording.ScaleFor("s", 1e-6, a.Value).Added(a)
		text += ", " + added
	}
	return text
}
