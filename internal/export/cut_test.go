package export

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/synthetic"
)

func TestCut(t *testing.T) {
	text := "# A\n\n" + strings.Repeat("one\n", 200) + "\n## B\n\n" + strings.Repeat("two\n", 100)
	must.EqualFor(t, "what fits", text, string(Cut([]byte(text), len(text))))
	got := string(Cut([]byte(text), len(text)-50))
	must.True(t, len(got) <= len(text)-50 && !strings.Contains(got, "## B") && strings.Contains(got, "bytes are omitted here (B): "),
		"%d bytes of at most %d:\n%s", len(got), len(text)-50, got[max(0, len(got)-200):])
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(200, 3000).Draw(t, "most")
		text := rapid.StringN(0, 3000, 6000).Draw(t, "text")
		if got := Cut([]byte(text), most); len(got) > most {
			t.Errorf("%d bytes, at most %d asked for", len(got), most)
		}
	})
}

// The Markdown of any run fits into a comment on a pull request.
func TestCutOfLargeRun(t *testing.T) {
	const comment = 65536
	shape := synthetic.Shape{Modes: 5, Blocks: 1500, Seed: 7, Series: 20}
	run := shape.Run()
	for i := range 2000 {
		run.Warnings = append(run.Warnings, result.Warning{Code: "no_cpu_bill", Scope: fmt.Sprintf("mode %d", i), Text: "a warning of some length about one of many modes"})
	}
	var text bytes.Buffer
	md, _ := Named("md")
	must.Do(t, md.Write(&text, run, nil))
	if text.Len() <= comment {
		t.Fatalf("the report has only %d bytes", text.Len())
	}
	got := string(Cut(text.Bytes(), comment))
	must.True(t, len(got) <= comment && strings.Contains(got, "are omitted here") && strings.Contains(got, "The answer"), "%d bytes:\n%s", len(got), got[max(0, len(got)-500):])
}
