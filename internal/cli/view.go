package cli

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"tare/internal/live"
	"tare/internal/live/plain"
	"tare/internal/live/term"
	"tare/internal/traffic"
)

// view shows a run while it is active.
type view struct {
	live.Listener
	progress time.Duration // how often it shows the rate of a trial, 0 for never
	close    func()
}

// view chooses by stderr: a terminal shows a matrix that fills up, a very small one a line
// that is rewritten, and anything else a log.
func (a App) view(f runFlags) view {
	if f.quiet {
		return view{Listener: silent{}, close: func() {}}
	}
	tty, width, height := terminal(a.Stderr)
	screen, ok := file(a.Stderr)
	if !tty || !ok || width < term.MinWidth || height < term.MinHeight {
		lines := live.Listener(plain.New(raw(a.Stderr), plain.Options{TTY: tty, Width: width}))
		if !f.verbose {
			lines = &concise{to: lines, log: true}
		}
		return view{Listener: lines, close: func() {}}
	}
	drawn := term.Start(screen, term.Options{ASCII: !unicode(os.Getenv)})
	listener := live.Listener(drawn)
	if !f.verbose {
		listener = &concise{to: drawn}
	}
	return view{Listener: listener, progress: traffic.MinProgressInterval, close: sync.OnceFunc(func() {
		if err := drawn.Close(); err != nil {
			fmt.Fprintf(a.Stderr, "tare: the live view ended: %v\n", err)
		}
	})}
}

// unicode reports whether a terminal shows characters beyond ASCII: unless its locale says
// otherwise, or it is the kernel's console, whose font has few.
func unicode(env func(string) string) bool {
	if env("TERM") == "linux" {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(env(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}
