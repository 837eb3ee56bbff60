package browser

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed testdata/axe/axe.min.js
var axe string

// sound is what holds for every page: nothing to complain about, no request but its own,
// usable by everybody in light and in dark, and no scrolling sideways on a telephone.
// Where it is left, the window is wide and the scheme light.
func (p *tab) sound(allowed ...string) {
	p.t.Helper()
	p.clean(allowed...)
	for _, scheme := range []string{"dark", "light"} {
		p.scheme(scheme)
		p.accessible(scheme)
		p.drawn(scheme)
	}
	p.narrow()
	p.fits(390)
	p.drawn("on a telephone")
	p.wide()
	p.clean()
}

// accessible fails for whatever axe-core takes for serious or critical.
func (p *tab) accessible(where string) {
	p.t.Helper()
	if !eval[bool](p, `"axe" in window`) {
		eval[any](p, axe+";null")
	}
	found := eval[struct {
		Passes     int
		Violations []string
	}](p, `axe.run(document, {resultTypes: ["violations"]}).then(r => ({Passes: r.passes.length, Violations: r.violations
		.filter(v => v.impact === "serious" || v.impact === "critical")
		.map(v => v.id + " (" + v.impact + "): " + v.help + v.nodes.slice(0, 4).map(n => "\n  " + n.html.slice(0, 200) + "\n    " + n.failureSummary).join(""))}))`)
	if found.Passes < 8 {
		p.t.Errorf("%s: only %d rules of axe-core had anything to look at", where, found.Passes)
	}
	for _, v := range found.Violations {
		p.t.Errorf("%s: axe-core: %s", where, v)
	}
}

// drawn fails for text of a drawing that cannot be read: with an outline over its letters, cut off by the edge of the
// drawing, or on top of another.
func (p *tab) drawn(where string) {
	p.t.Helper()
	found := eval[[]string](p, `(() => {
		const out = [];
		for (const svg of document.querySelectorAll("svg")) {
			if (!svg.checkVisibility()) continue;
			const edge = svg.getBoundingClientRect();
			const all = [...svg.querySelectorAll("text")].filter(e => e.checkVisibility() && e.textContent.trim()).map(e => ({e, r: e.getBoundingClientRect()}));
			const say = (what, e) => out.push(what + ": " + e.textContent.slice(0, 60) + " in " + (svg.getAttribute("aria-label") || svg.outerHTML).slice(0, 80));
			all.forEach(({e, r}, i) => {
				if (getComputedStyle(e).stroke !== "none") say("outlined", e);
				if (r.left < edge.left - 1 || r.right > edge.right + 1 || r.top < edge.top - 2 || r.bottom > edge.bottom + 2) say("cut off by " + Math.round(Math.max(edge.left - r.left, r.right - edge.right, edge.top - r.top, r.bottom - edge.bottom)) + " px", e);
				for (const {e: other, r: o} of all.slice(i + 1)) {
					const wide = Math.min(r.right, o.right) - Math.max(r.left, o.left), high = Math.min(r.bottom, o.bottom) - Math.max(r.top, o.top);
					if (wide > 1 && high > Math.min(r.height, o.height) / 2) say("over " + other.textContent.slice(0, 40), e);
				}
			});
		}
		return out;
	})()`)
	for _, b := range found[:min(len(found), 12)] {
		p.t.Errorf("%s: text of a drawing: %s", where, b)
	}
}

// named fails where a mode's name is broken within a word. Words that are wider than any column are left out.
func (p *tab) named() {
	p.t.Helper()
	broken := eval[[]string](p, `[...document.querySelectorAll("tbody th bdi")].filter(e => e.checkVisibility() && e.firstChild?.nodeType === 3).flatMap(e => {
		const text = e.firstChild, range = document.createRange();
		return [...text.data.matchAll(/[A-Za-z0-9_]{2,16}/g)].filter(m => {
			range.setStart(text, m.index);
			range.setEnd(text, m.index + m[0].length);
			return new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1;
		}).map(m => m[0] + " of " + text.data.slice(0, 60));
	})`)
	for _, b := range broken[:min(len(broken), 8)] {
		p.t.Errorf("a name is broken within a word: %s", b)
	}
}

// folded fails for a section that decides nothing and is open, and for one that a link into it does not open.
func (p *tab) folded() {
	p.t.Helper()
	for _, id := range []string{"w3", "cost", "modes", "losses", "limits", "environment", "method", "trials", "w2-2"} {
		is := func(open bool) {
			p.t.Helper()
			if got := eval[string](p, fmt.Sprintf(`String(document.querySelector("#%s").closest("details")?.open)`, id)); got != fmt.Sprint(open) {
				p.t.Errorf("section %s is open: %s, want %t", id, got, open)
			}
		}
		is(false)
		eval[any](p, fmt.Sprintf(`new Promise(r => {addEventListener("hashchange", () => setTimeout(r, 0), {once: true}); location.hash = "%s"})`, id))
		is(true)
		eval[any](p, fmt.Sprintf(`document.querySelector("#%s").closest("details").open = false;null`, id))
	}
}

// unfold opens all that is folded but the lists of trials.
func (p *tab) unfold() {
	p.t.Helper()
	eval[any](p, `document.querySelectorAll("details:not(.trials)").forEach(e => {e.open = true});null`)
}

// hinted fails for a table that scrolls sideways and does not show it, and where none does: then nothing is tested.
func (p *tab) hinted() {
	p.t.Helper()
	tables := eval[[]bool](p, `[...document.querySelectorAll("div.scroll")].filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth)
		.map(e => getComputedStyle(e).backgroundAttachment.includes("local") && getComputedStyle(e).backgroundImage.includes("gradient"))`)
	if len(tables) == 0 || slices.Contains(tables, false) {
		p.t.Errorf("tables that scroll, and whether they show it: %v", tables)
	}
}

// fits fails for a page that has to be scrolled sideways, and names what sticks out.
func (p *tab) fits(width int) {
	p.t.Helper()
	if wide := eval[int](p, "document.documentElement.scrollWidth"); wide > width {
		p.t.Errorf("the page is %d px wide in a window of %d px: %s", wide, width, eval[string](p, fmt.Sprintf(
			`[...document.body.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > %d && !e.closest(".scroll"))
			.slice(0, 5).map(e => e.outerHTML.slice(0, 150)).join("\n")`, width)))
	}
}

// The part of a sheet of A4 that Chromium prints on by default, in CSS pixels: 1 cm of
// margin all around.
const sheetWidth, sheetHeight = 718, 1046

// printed prints the page and fails where a chart would be cut in two: each must be less
// high than a sheet, and it or what it is part of must be kept together. Nor has it
// anything so wide that Chromium would have to make all of it small.
func (p *tab) printed() {
	p.t.Helper()
	p.do("make the window as wide as a sheet", chromedp.EmulateViewport(sheetWidth, sheetHeight))
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	broken := eval[[]string](p, fmt.Sprintf(`[...document.querySelectorAll("figure, figure svg, svg.tare-chart, tr")].filter(e => e.checkVisibility()).flatMap(e => {
		const high = e.getBoundingClientRect().height, name = e.outerHTML.slice(0, 120);
		// A picture is never cut where it fits; other boxes are, unless they ask not to be.
		const kept = e.tagName === "svg" || getComputedStyle(e).breakInside === "avoid" || e.tagName === "FIGURE" && high > %[1]d;
		return [...high > %[1]d && e.tagName === "svg" ? [Math.round(high) + " px high: " + name] : [], ...kept ? [] : ["not kept together: " + name]];
	})`, sheetHeight))
	for _, b := range broken {
		p.t.Errorf("printing breaks it: %s", b)
	}
	p.legible()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
	pdf, err := chromedp.Run(p.ctx, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4)))
	if err != nil {
		p.t.Fatalf("print: %v", err)
	}
	if sheets := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(pdf, -1)); sheets == 0 {
		p.t.Errorf("%d bytes of PDF have no page", len(pdf))
	}
	p.wide()
}

func (p *tab) legible() {
	p.t.Helper()
	if wide := eval[int](p, "document.documentElement.scrollWidth"); wide > sheetWidth*5/4 {
		p.t.Errorf("printing makes it too small to read: it is %d px wide, and a sheet has %d: %s", wide, sheetWidth, eval[string](p, fmt.Sprintf(
			`[...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > %d).slice(0, 4).map(e => e.outerHTML.slice(0, 150)).join("\n")`, sheetWidth*5/4)))
	}
}

// tabbed goes through the page with the Tab key and fails for a control that is not
// reached, or that does not show that it has the focus.
func (p *tab) tabbed() {
	p.t.Helper()
	n := eval[int](p, `(() => {
		const name = e => e.outerHTML.slice(0, 120);
		window.reached = new Map();
		// Whether the focus is to be shown may be settled only after it has moved, so it is
		// looked at again when the key is let go.
		const look = e => {
			const s = getComputedStyle(e);
			reached.set(e, reached.get(e) || s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== "none");
		};
		document.addEventListener("focusin", e => look(e.target));
		document.addEventListener("keyup", e => reached.has(e.target) && look(e.target));
		window.controls = () => [...document.querySelectorAll("a[href],button,input,select,textarea,summary,[tabindex='0']")].filter(e => e.checkVisibility() && !e.disabled);
		window.left = () => controls().filter(e => !reached.has(e) && !(e.type === "radio" && [...reached.keys()].some(r => r.name === e.name))).map(name);
		window.unseen = () => [...reached].filter(([, seen]) => !seen).map(([e]) => name(e));
		document.activeElement.blur();
		return controls().length;
	})()`)
	if n == 0 {
		p.t.Error("there is nothing to go to with the Tab key")
	}
	p.do("press Tab", slices.Repeat([]chromedp.Action[chromedp.Void]{chromedp.KeyEvent(kb.Tab)}, n+2)...)
	for _, e := range eval[[]string](p, "left()") {
		p.t.Errorf("the Tab key does not reach %s", e)
	}
	for _, e := range eval[[]string](p, "unseen()") {
		p.t.Errorf("that it has the focus does not show: %s", e)
	}
}

// inventory counts what can be seen of each kind of thing that a report is made of.
func (p *tab) inventory() map[string]int {
	p.t.Helper()
	return eval[map[string]int](p, `Object.fromEntries("figure svg table tr h2 h3 dt li".split(" ").map(s => [s, [...document.querySelectorAll(s)].filter(e => e.checkVisibility()).length]))`)
}

// text is all that can be read on the page, its white space as single blanks.
func (p *tab) text() string {
	p.t.Helper()
	return strings.Join(strings.Fields(eval[string](p, "document.body.innerText")), " ")
}
