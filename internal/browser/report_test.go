package browser

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// testReport looks at the report of a real run.
func testReport(t *testing.T, b browser) {
	dir := filepath.Join(t.TempDir(), "run")
	recorded(t, "before", dir)
	addClaims(t, dir)
	at := rendered(t, dir)
	p := b.tab(t)
	p.open(at)
	p.folded()
	p.unfold()
	p.sound(at)
	p.named()
	p.narrow()
	p.named()
	p.hinted()
	p.wide()
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
	q.unfold()
	q.clean(at)
	must.EqualFor(t, "without scripts", seen, q.inventory())
	for _, c := range eval[[]string](q, `[...document.querySelectorAll("button, input, select")].filter(e => e.checkVisibility()).map(e => e.outerHTML)`) {
		t.Errorf("without scripts there is a control that does nothing: %s", c)
	}
}

// testLength looks at the report of a recorded run of five modes: it is short with its folds closed, and shows no metric of
// all modes twice before they are opened.
func testLength(t *testing.T, b browser) {
	packed := must.Get(os.Open(filepath.Join("..", "..", "docs", "recorded", "docker", "run.json.gz")))(t)
	defer packed.Close()
	var run result.Run
	must.Do(t, json.NewDecoder(must.Get(gzip.NewReader(packed))(t)).Decode(&run))
	if len(run.Modes) != 5 {
		t.Fatalf("the recorded run has %d modes", len(run.Modes))
	}
	file := filepath.Join(t.TempDir(), "report.html")
	page := must.Get(os.Create(file))(t)
	must.Do(t, report.HTML(page, report.Input{Run: run}))
	must.Do(t, page.Close())
	p := b.tab(t)
	p.open(address(file))
	p.do("widen", chromedp.EmulateViewport(1400, 900))
	const most = 7000
	if high := eval[int](p, "document.documentElement.scrollHeight"); high >= most {
		t.Errorf("the page is %d px tall, which must be less than %d: %s", high, most, eval[string](p,
			`[...document.querySelectorAll("header, main > section, footer")].map(e => (e.querySelector("h2") || e).innerText.slice(0, 30) + " " + Math.round(e.getBoundingClientRect().height)).join(", ")`))
	}
	links := func(id string) []string {
		return eval[[]string](p, fmt.Sprintf(`[...document.querySelectorAll("section[aria-labelledby=%s] thead a")].map(e => e.getAttribute("href"))`, id))
	}
	answer, further := links("answer"), links("matrix")
	if len(answer) < 4 || len(further) < 2 {
		t.Fatalf("the answer has the metrics %q, and all modes %q", answer, further)
	}
	for _, to := range further {
		if slices.Contains(answer, to) {
			t.Errorf("both the answer and all modes have %s", to)
		}
	}
	p.clean(address(file))
}
