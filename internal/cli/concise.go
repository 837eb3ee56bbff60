package cli

import (
	"fmt"

	"tare/internal/analysis"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/warning"
	"tare/internal/wording"
)

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
