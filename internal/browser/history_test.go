package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/testkit/synthetic"
)

// testHistory looks at results over time: the page that tare history writes, and those of tare serve.
func testHistory(t *testing.T, b browser) {
	top := t.TempDir()
	many := synthetic.Many{Shape: synthetic.Shape{Modes: 3, Blocks: 5, Seed: 7}, Runs: 20, Spread: 0.01, Step: 0.8, From: 10}
	must.Do(t, many.Write(top))
	file := filepath.Join(t.TempDir(), "history.html")
	must.Do(t, os.WriteFile(file, []byte(tare(t, "history", top, "--format", "html")), 0o600))
	p := b.tab(t)
	at := address(file)
	p.open(at)
	p.sound(at)
	p.tabbed()
	p.printed()
	p.clean()
	if seen := p.inventory(); seen["figure"] < 8 || seen["table"] < 5 {
		t.Errorf("the page shows too little: %v", seen)
	}
	if text := p.text(); !strings.Contains(text, "changes found in 20 runs") || strings.Contains(text, "NaN") {
		t.Errorf("the page says:\n%s", text)
	}
	// The value of a run is under the pointer.
	must.Contain(t, eval[string](p, `document.querySelector(".run-mark title").textContent`), "run 00000000")

	p = b.tab(t)
	home := p.enter(serve(t, top))
	p.click(`nav a[href$="history"]`)
	p.until("the studies are listed", "document.readyState === 'complete' && document.querySelectorAll('tbody tr').length === 1")
	p.sound(home + "history")
	p.tabbed()
	p.click("tbody a")
	p.until("the history is there", "document.readyState === 'complete' && document.querySelectorAll('figure').length >= 8")
	p.sound(eval[string](p, "location.href"))
	must.Contain(t, p.text(), "changes found in 20 runs")
}
