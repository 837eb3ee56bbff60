package browser

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"tare/internal/testkit/must"
)

// testControls uses what the report's script adds: sorting, hiding, copying.
func testControls(t *testing.T, b browser) {
	dir := filepath.Join(t.TempDir(), "run")
	recorded(t, "before", dir)
	at := rendered(t, dir)
	p := b.tab(t)
	p.open(at)

	// Sorting changes the order of the rows, the second time the other way round, and says
	// so to who does not see it.
	const table = "section[aria-labelledby=answer] table"
	names := fmt.Sprintf(`[...document.querySelectorAll("%s tbody tr[data-m] th")].map(e => e.innerText)`, table)
	heads := fmt.Sprintf(`[...document.querySelectorAll("%s th[aria-sort]")].map(e => e.getAttribute("aria-sort")).join()`, table)
	before := eval[[]string](p, names)
	if len(before) != 3 {
		t.Fatalf("the answer has %q", before)
	}
	first := table + " thead button"
	p.click(first)
	p.until("it is sorted", heads+" === 'ascending'")
	up := eval[[]string](p, names)
	p.click(first)
	p.until("it is sorted the other way", heads+" === 'descending'")
	down := eval[[]string](p, names)
	slices.Reverse(down)
	if slices.Equal(up, eval[[]string](p, names)) || !slices.Equal(up, down) {
		t.Errorf("the rows were %q; sorted %q, and turned round the reverse of %q", before, up, down)
	}
	must.Contain(t, eval[string](p, `[...document.querySelectorAll("[role=status]")].map(e => e.textContent).join()`), "descending")

	// A mode that is hidden is gone from tables, and comes back.
	rows := `[...document.querySelectorAll("tr[data-m]")].filter(e => e.checkVisibility()).length`
	shown := eval[int](p, rows)
	p.click("#tools button")
	p.until("a mode is hidden", fmt.Sprintf("%s < %d && document.querySelector('#tools button').getAttribute('aria-pressed') === 'false'", rows, shown))
	p.accessible("with a mode hidden")
	p.click("#tools button")
	p.until("it is shown again", fmt.Sprintf("%s === %d", rows, shown))

	// A table that is copied can be pasted as CSV.
	p.click("button.copy")
	p.until("it is copied", `document.querySelector("[role=status]").textContent.includes("copied")`)
	eval[any](p, `document.body.append(Object.assign(document.createElement("textarea"), {id: "paste"})); document.getElementById("paste").focus(); null`)
	p.do("paste", chromedp.KeyEvent("v", chromedp.KeyModifiers(chromedp.ModifierCtrl), func(k *input.DispatchKeyEventParams) { k.Commands = []string{"paste"} }))
	p.until("there is something in the clipboard", `document.getElementById("paste").value !== ""`)
	lines := strings.Split(strings.TrimSpace(eval[string](p, `document.getElementById("paste").value`)), "\n")
	if len(lines) < 4 || !strings.HasPrefix(lines[0], "against host,") || !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "netns/vxlan,") }) {
		t.Errorf("what was pasted is\n%s", strings.Join(lines, "\n"))
	}
	for _, l := range lines[1:] {
		if strings.Count(l, ",") < strings.Count(lines[0], ",") {
			t.Errorf("a line has fewer columns than the first: %s", l)
		}
	}
	p.clean(at)
}
