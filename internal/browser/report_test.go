package browser

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"tare/internal/must"
)

// testReport looks at the report of a real run.
func testReport(t *testing.T, b browser) {
	dir := filepath.Join(t.TempDir(), "run")
	recorded(t, "before", dir)
	addClaims(t, dir)
	at := rendered(t, dir)
	p := b.tab(t)
	p.open(at)
	p.sound(at)
	p.named()
	p.narrow()
	p.named()
	p.hinted()
	p.wide()
	p.folded()
	p.tabbed()
	p.printed()
	p.clean()

	seen := p.inventory()
	if seen["figure"] < 5 || seen["svg"] < 20 || seen["table"] < 5 || seen["tr"] < 30 {
		t.Errorf("the page shows too little: %v", seen)
	}
	if text := p.text(); !strings.Contains(text, "netns/vxlan") || strings.Contains(text, "NaN") || !strings.Contains(text, "Ports cost TCP nothing") {
		t.Errorf("the page says:\n%s", text)
	}

	// Without scripts all of that is there just the same, and no control that does nothing.
	q := b.tab(t)
	call(q, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	q.open(at)
	q.clean(at)
	must.EqualFor(t, "without scripts", seen, q.inventory())
	for _, c := range eval[[]string](q, `[...document.querySelectorAll("button, input, select")].filter(e => e.checkVisibility()).map(e => e.outerHTML)`) {
		t.Errorf("without scripts there is a control that does nothing: %s", c)
	}
}
