package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"

	"tare/internal/cli"
	"tare/internal/driver/subcommand"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// The test binary is also the program: called as tare, it is tare, and whatever it is
// called, it is the agent in a sandbox.
func TestMain(m *testing.M) {
	done, err := subcommand.Run(context.Background(), os.Args, "test")
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case done:
	case os.Args[0] == "tare":
		app := cli.New(result.Build{Version: "test"})
		app.Program = os.Args[0]
		os.Exit(app.Main(context.Background(), os.Args[1:]))
	default:
		os.Exit(m.Run())
	}
}

// TestPage is the part of these tests for which every change starts a browser.
func TestPage(t *testing.T) {
	b := launch(t)
	t.Run("report", func(t *testing.T) { testReport(t, b) })
	t.Run("length", func(t *testing.T) { testLength(t, b) })
}

// TestBrowser is one test, so that all that is in it share one browser, which is the
// most expensive step here, and so that its clean-up ends that browser even when one panics.
func TestBrowser(t *testing.T) {
	b := launch(t)
	t.Run("watchful", func(t *testing.T) { testWatchful(t, b) })
	t.Run("controls", func(t *testing.T) { testControls(t, b) })
	t.Run("evil", func(t *testing.T) { testEvil(t, b) })
	t.Run("serve", func(t *testing.T) { testServe(t, b) })
	t.Run("history", func(t *testing.T) { testHistory(t, b) })
	t.Run("watch", func(t *testing.T) { testWatch(t, b) })
	t.Run("live", func(t *testing.T) { testLive(t, b) })
}

// browser is a running Chromium. Its context is that of its process.
type browser struct{ ctx context.Context }

// launch starts the browser with a profile of its own, which goes with it. The kernel
// ends it should this process be killed. It is let reach nothing but this machine, and as
// root it has to do without its sandbox: there it would not start.
func launch(t *testing.T) browser {
	t.Helper()
	testneed.NotShort(t)
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program(t)),
		chromedp.WSURLReadTimeout(patience()),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("no-pings", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
	)
	outer, end := chromedp.NewExecAllocator(context.Background(), flags...)
	t.Cleanup(end)
	ctx, stop := chromedp.NewContext(outer)
	t.Cleanup(stop)
	must.Do(must.Named(t, "start the browser"), chromedp.Do(ctx))
	return browser{ctx}
}

// program finds a Chromium; see testneed.
func program(t *testing.T) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	testneed.Missing(t, testneed.Browser, fmt.Sprintf("none of %q is in PATH", names))
	return ""
}
