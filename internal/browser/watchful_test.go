package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// notes takes down what a check finds, in place of a test.
type notes struct {
	*testing.T
	found []string
}

func (n *notes) Errorf(format string, args ...any) {
	n.found = append(n.found, fmt.Sprintf(format, args...))
}

func (n *notes) Error(args ...any) { n.found = append(n.found, fmt.Sprint(args...)) }

// flawed has one of each flaw that the checks are there for.
const flawed = `<!doctype html><html><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self' file:; style-src 'unsafe-inline'; script-src 'sha256-%s'">
<style>.pale { color: #eee; background: #fff } .wide { width: 700px } .high { height: 1500px; width: 10px } button { outline: none !important }</style></head>
<body><p class="pale">hardly to be read</p><div class="wide">wide</div><img src="nothing.png">
<figure><svg class="high"><rect width="1" height="1"/></svg></figure><figure>low</figure><button>seen?</button><a href="#" onkeydown="1" tabindex="0">reached</a>
<script>alert("kept out")</script></body></html>`

// testWatchful shows that the checks of this package find what they are there to find.
func testWatchful(t *testing.T, b browser) {
	file := filepath.Join(t.TempDir(), "flawed.html")
	must.Do(t, os.WriteFile(file, fmt.Appendf(nil, flawed, strings.Repeat("A", 43)+"="), 0o600))
	n := &notes{T: t}
	p := b.tab(t)
	p.t = n
	at := address(file)
	p.open(at)
	eval[any](p, `console.warn("a warning"); setTimeout(() => { throw new Error("thrown") }); null`)
	p.until("the error is thrown", "true")
	p.sound(at)
	p.tabbed()
	p.printed()
	all := strings.Join(n.found, "\n")
	for _, want := range []string{"console warning: \"a warning\"", "policy: script-src", "asked for file:", "nothing.png", "axe-core: color-contrast (serious)",
		"axe-core: image-alt (critical)", "axe-core: html-has-lang (serious)", "px wide in a window of 390 px", `does not show: <button>`, "1500 px high", "not kept together: <figure>"} {
		must.Contain(t, all, want)
	}
}
