// Package plain reports a run in lines of text, for logs and simple terminals. On a
// terminal the trial in progress is one line that is rewritten in place; elsewhere every
// change of state is a separate line.
package plain

import (
	"io"
	"strings"

	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/wording"
)

// Options describe the output.
type Options struct {
	TTY   bool // a terminal: progress is rewritten in place
	Width int  // columns of the terminal; 80 when 0
}

// Listener writes events when they arrive. It ignores write errors: a run must not end
// because its output cannot be written.
type Listener struct {
	w        io.Writer
	opt      Options
	progress string // on screen now, empty if none
	current  live.TrialStarted
}

var _ live.Listener = (*Listener)(nil)

// New returns a listener that writes to w, each event with one call of Write.
func New(w io.Writer, opt Options) *Listener {
	if opt.Width <= 0 {
		opt.Width = 80
	}
	return &Listener{w: w, opt: opt}
}

// Handle implements live.Listener.
func (l *Listener) Handle(e live.Event) {
	switch e := e.(type) {
	case live.Planned:
		l.lines(planned(e)...)
	case live.ModeSettled:
		l.lines(settled(e))
	case live.TrialStarted:
		l.current = e
		if l.opt.TTY {
			l.show(progress(e))
		}
	case live.TrialEnded:
		if !l.opt.TTY || e.Trial.Status != result.TrialOK {
			l.lines(l.ended(e.Trial))
		}
		l.current.Done++ // the next of several interleaved trials
	case live.Provisional:
		if line := provisional(e); line != "" {
			l.lines(line)
		}
	case live.Recreated:
		if !l.opt.TTY {
			l.lines(recreated(e))
		}
	case live.Decision:
		l.lines(e.Text)
	case live.Waiting:
		l.lines(e.Text)
	case live.WarningRaised:
		l.lines(warned(e.Warning))
	case live.Moved:
		l.lines(e.String())
	case live.Ended:
		erase := l.erase()
		l.progress = ""
		l.write(erase, ended(e))
	}
}

// longest is the maximum width of a line, in columns, if the terminal does not limit it.
const longest = 2000

// lines writes whole lines. It erases the progress line before them and redraws it below.
func (l *Listener) lines(lines ...string) { l.write(l.erase(), lines...) }

func (l *Listener) write(before string, lines ...string) {
	var b strings.Builder
	b.WriteString(before)
	for _, s := range lines {
		b.WriteString(wording.Cut(wording.Clean(s), longest) + "\n")
	}
	b.WriteString(l.progress)
	_, _ = io.WriteString(l.w, b.String())
}

// show replaces the progress line. It stays one column short of the terminal's width,
// because a wrapped line cannot be erased with \r.
func (l *Listener) show(s string) {
	next := wording.Cut(wording.Clean(s), l.opt.Width-1)
	_, _ = io.WriteString(l.w, "\r"+next+"\x1b[K")
	l.progress = next
}

// erase clears the progress line, if there is one.
func (l *Listener) erase() string {
	if l.progress == "" {
		return ""
	}
	return "\r\x1b[K"
}
