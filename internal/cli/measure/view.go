package measure

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"tare/internal/analysis"
	"tare/internal/cli/command"
	"tare/internal/live"
	"tare/internal/live/plain"
	"tare/internal/live/term"
	"tare/internal/result"
	"tare/internal/traffic"
	"tare/internal/warning"
	"tare/internal/wording"
)

// view shows a run while it is active.
type view struct {
	live.Listener
	progress time.Duration // how often it shows the rate of a trial, 0 for never
	close    func()
}

// view chooses by stderr: a terminal shows a matrix that fills up, a very small one a line
// that is rewritten, and anything else a log.
func (a commands) view(f runFlags) view {
	if f.quiet {
		return view{Listener: silent{}, close: func() {}}
	}
	tty, width, height := command.Terminal(a.Stderr)
	screen, ok := command.File(a.Stderr)
	if !tty || !ok || width < term.MinWidth || height < term.MinHeight {
		lines := live.Listener(plain.New(command.Raw(a.Stderr), plain.Options{TTY: tty, Width: width}))
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

// silent is a listener that shows nothing.
type silent struct{}

func (silent) Handle(live.Event) {}

// concise passes on what a reader needs while a run goes on. Of the warnings these are the
// ones that bias results; the others are counted in one line before the first trial, and
// run.json has them all. Of a log it keeps one line for each block.
type concise struct {
	to    live.Listener
	log   bool // to writes lines, of which most are left out
	notes int
	began bool
	block int
}

// Handle implements live.Listener.
func (c *concise) Handle(e live.Event) {
	switch e := e.(type) {
	case live.WarningRaised:
		g := analysis.Group([]result.Warning{e.Warning})[0]
		if g.Severity == warning.Bias {
			c.to.Handle(live.WarningRaised{Warning: result.Warning{Code: e.Warning.Code, Scope: e.Warning.Scope, Text: g.Text}})
		} else if g.Machine {
			c.notes++
		}
		return
	case live.TrialStarted:
		c.start(e)
	case live.ModeSettled:
		if c.log && e.Status == result.ModeMeasured {
			return
		}
	case live.TrialEnded:
		if c.log && e.Trial.Status == result.TrialOK {
			return
		}
	case live.Provisional, live.Recreated, live.Decision:
		if c.log {
			return
		}
	}
	c.to.Handle(e)
}

// start reports the machine's notes before the first trial, and in a log each block.
func (c *concise) start(e live.TrialStarted) {
	if !c.began && c.notes > 0 {
		c.to.Handle(live.Decision{Text: wording.Count(c.notes, "note", "notes") + " on this machine: tare doctor"})
	}
	if c.log && (e.Block != c.block || !c.began) {
		text := fmt.Sprintf("block %d", e.Block)
		switch {
		case e.Block == 0:
			text = "pilot trials"
		case e.Blocks > 0:
			text = fmt.Sprintf("block %d of %d", e.Block, e.Blocks)
		}
		if e.Remaining > 0 {
			text += ", at most " + wording.Duration(e.Remaining) + " left"
		}
		c.to.Handle(live.Decision{Text: text})
	}
	c.began, c.block = true, e.Block
}
