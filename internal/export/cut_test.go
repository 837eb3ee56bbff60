package export

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCut(t *testing.T) {
	text := "# A\n\n" + strings.Repeat("one\n", 200) + "\n## B\n\n" + strings.Repeat("two\n", 100)
	if got := string(Cut([]byte(text), len(text))); got != text {
		t.Error("what fits is changed")
	}
	got := string(Cut([]byte(text), len(text)-50))
	if len(got) > len(text)-50 || strings.Contains(got, "## B") || !strings.Contains(got, "bytes are omitted") {
		t.Errorf("%d bytes of at most %d:\n%s", len(got), len(text)-50, got[max(0, len(got)-200):])
	}
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(200, 3000).Draw(t, "most")
		text := rapid.StringN(0, 3000, 6000).Draw(t, "text")
		if got := Cut([]byte(text), most); len(got) > most {
			t.Errorf("%d bytes, at most %d asked for", len(got), most)
		}
	})
}
