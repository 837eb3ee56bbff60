package browser

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tare/internal/cli"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
)

// enter opens the address that tare serve printed, and gives the address of the list, to
// which that leads.
func (p *tab) enter(printed string) (home string) {
	p.t.Helper()
	home, _, found := strings.Cut(printed, "?token=")
	if !found {
		p.t.Fatalf("no token in %s", printed)
	}
	p.open(printed)
	if at := eval[string](p, "location.href"); at != home {
		p.t.Errorf("%s leads to %s", printed, at)
	}
	if said := eval[string](p, "document.cookie"); said != "" {
		p.t.Errorf("a script can read the cookie %s", said)
	}
	p.clean(printed, home)
	return home
}

// serve starts tare serve over a directory of runs, until the test ends, and gives the
// address that it prints.
func serve(t *testing.T, dir string) string {
	t.Helper()
	read, write := io.Pipe()
	var told bytes.Buffer
	app := cli.New(result.Build{Version: "test"})
	app.Stdout, app.Stderr = write, &told
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		code := app.Main(ctx, []string{"serve", dir, "--listen", "127.0.0.1:0"})
		write.Close()
		ended <- code
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("tare serve ended with %d:\n%s", code, told.String())
		}
	})
	line := must.Get(bufio.NewReader(read).ReadString('\n'))(must.Named(t, "tare serve printed no address"))
	return strings.TrimSpace(line)
}

// testServe does with the pages what their reader would: look for a run, open its report,
// compare two. One of the runs has a name that means ill, one cannot be read.
func testServe(t *testing.T, b browser) {
	top := t.TempDir()
	recorded(t, "before", filepath.Join(top, "monday", "before"))
	recorded(t, "after", filepath.Join(top, "tuesday", "after"))
	recorded(t, "after", filepath.Join(top, `<img src=x onerror="window.owned=1">`))
	bad := filepath.Join(top, "broken")
	must.Do(t, os.Mkdir(bad, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(bad, store.RunFile), []byte(`{"schema": "tare.run/`), 0o600))
	p := b.tab(t)
	home := p.enter(serve(t, top))

	p.open(home)
	p.sound(home)
	p.tabbed()
	rows := "[...document.querySelectorAll('tbody tr')]"
	if n := eval[int](p, rows+".length"); n != 4 {
		t.Errorf("%d runs are listed, want 4:\n%s", n, p.text())
	}
	if eval[bool](p, `"owned" in window || document.querySelector("img") !== null`) {
		t.Error("the name of a directory became part of the page")
	}

	p.click("#q")
	p.do("search", chromedp.KeyEvent("tuesday"+kb.Enter))
	p.until("one run is found", rows+".length === 1 && document.body.innerText.includes('tuesday/after')")
	p.clean(home, home+"?q=tuesday")
	p.click("form.search a")
	p.until("all are listed", rows+".length === 4")
	p.clean(home)

	p.click(`a[href$="claims"]`)
	p.until("the claims are there", "document.readyState === 'complete' && document.querySelector('h1').innerText === 'Claims'")
	p.sound(home, home+"claims")
	p.tabbed()
	p.click(`main a[href="/"]`)
	p.until("all are listed", rows+".length === 4")
	p.clean(home)

	p.click(`a[href$="monday/before"]`)
	p.until("the report is there", "document.readyState === 'complete' && document.querySelectorAll('figure').length > 4")
	p.sound(home + "run/monday/before")
	eval[any](p, "history.back(); null")
	p.until("all are listed again", rows+".length === 4 && document.querySelector('form.search') !== null")

	p.click(`input[name=before][value="monday/before"]`)
	p.click(`input[name=after][value="tuesday/after"]`)
	p.click(`form[action$=compare] button`)
	p.until("they are compared", "document.readyState === 'complete' && document.querySelector('h1').innerText === 'What changed'")
	p.sound(home, home+"compare?after=tuesday%2Fafter&before=monday%2Fbefore")
	p.tabbed()
	must.Contain(t, p.text(), "netns/vxlan", "Change")

	// What is not there is told on a page like the others. The browser logs its code, which
	// is all that it may log.
	p.open(home + "run/gone")
	must.Contain(t, p.text(), "run gone does not exist")
	p.accessible("a page that says what is wrong")
	p.click("main a")
	p.until("all are listed", rows+".length === 4")
}
