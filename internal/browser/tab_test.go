package browser

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// patience is how long anything may take before it is given up. Nothing waits for it to
// pass: it only bounds what is stuck.
func patience() time.Duration { return timelimit.Scaled(time.Minute) }

// fails is where a check tells what it has found: a test.
type fails interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// tab is a page of the browser that is watched from before its first byte.
type tab struct {
	t   fails
	ctx context.Context

	mu         sync.Mutex
	complaints []string // of the console, the log, the policy; exceptions
	requests   []string // addresses asked for
}

// tattle tells of what a page's policy has kept from it: the console may be silent.
const tattle = `document.addEventListener("securitypolicyviolation", e => console.error("policy: " + e.violatedDirective + " " + e.blockedURI + " " + e.sample))`

// tab opens a page. It is closed with the test.
func (b browser) tab(t *testing.T) *tab {
	t.Helper()
	p := &tab{t: t}
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithListener(p.hear))
	t.Cleanup(end)
	p.ctx = ctx
	// The first call's context is the tab's own life.
	must.Do(must.Named(t, "open a tab"), chromedp.Do(ctx))
	call(p, network.Enable, network.EnableParams{})
	call(p, log.Enable, cdp.Empty{})
	call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: tattle})
	p.wide()
	return p
}

// hear notes what a sound page has no cause for, and what it asks for.
func (p *tab) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			var words []string
			for _, a := range e.Args {
				words = append(words, string(a.Value)+a.Description)
			}
			p.complaints = append(p.complaints, fmt.Sprintf("console %s: %s", e.Type, strings.Join(words, " ")))
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		p.complaints = append(p.complaints, "exception: "+text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelWarning || e.Entry.Level == log.EntryLevelError {
			p.complaints = append(p.complaints, fmt.Sprintf("log %s (%s): %s %s", e.Entry.Level, e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	}
}

// clean fails the test for all that has been heard, and for every request but allowed.
// What has been heard is forgotten.
func (p *tab) clean(allowed ...string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.complaints {
		p.t.Errorf("the browser complains: %s", c)
	}
	for _, url := range p.requests {
		if !slices.Contains(allowed, url) {
			p.t.Errorf("the page asked for %s", url)
		}
	}
	p.complaints, p.requests = nil, nil
}

// do runs steps in the page.
func (p *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience())
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

// open goes to an address and waits for the page.
func (p *tab) open(url string) {
	p.t.Helper()
	p.do("open "+url, chromedp.Navigate(url))
}

// call sends a command of the protocol.
func call[P, R any](p *tab, c cdp.Command[P, R], params P) R {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience())
	defer cancel()
	out, err := chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, c, params) })
	if err != nil {
		p.t.Fatalf("%s: %v", c.Method, err)
	}
	return out
}

// eval gives what a script says in the page; a promise is waited for.
func eval[T any](p *tab, script string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience())
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("evaluate %.200s: %v", script, err)
	}
	return out
}

// until waits for a script to say true, also over a change of pages.
func (p *tab) until(what, script string) {
	p.t.Helper()
	var last error
	for end := time.Now().Add(patience()); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(p.ctx, patience())
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+script+")"))
		cancel()
		if ok {
			return
		}
		last = err // between two pages there is none to ask
	}
	p.t.Fatalf("waited in vain until %s (%v); the page says:\n%.2000s", what, last, eval[string](p, "document.body.innerText"))
}

// click clicks with the mouse in the middle of the first element that is selected.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.until("there is "+selector, fmt.Sprintf("document.readyState === 'complete' && document.querySelector(%q)", selector))
	at := eval[[]float64](p, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.scrollIntoView({block: "center", inline: "center"});
		const r = e.getClientRects()[0];
		return [r.left + r.width / 2, r.top + r.height / 2];
	})()`, selector))
	p.do("click "+selector, chromedp.MouseClickXY(at[0], at[1]))
}

// wide is a window of a desktop, narrow one of a telephone.
func (p *tab) wide()   { p.t.Helper(); p.do("widen", chromedp.EmulateViewport(1280, 900)) }
func (p *tab) narrow() { p.t.Helper(); p.do("narrow", chromedp.EmulateViewport(390, 844)) }

// scheme is what the reader likes: light or dark.
func (p *tab) scheme(name string) {
	p.t.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
}
