// Package term shows a run on a terminal while it runs: the modes with their results so
// far, the running trial with its rate, the remaining time and the warnings. It draws in
// place, below the existing text, reads no input and sets no terminal mode, and it
// removes the drawing when the run ends.
package term

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"tare/internal/live"
)

// Options describe the terminal.
type Options struct {
	// ASCII avoids characters that fonts and terminals without Unicode lack.
	ASCII bool
	// Environ is the environment with TERM, NO_COLOR and similar variables.
	Environ []string
	// Now is the clock.
	Now func() time.Time
}

// The minimum size of a terminal.
const (
	MinWidth  = 30
	MinHeight = 6
)

// Listener draws the events of a run. Handle only records the events; the drawing is
// updated from them a few times a second, so that a slow or stopped terminal does not
// delay the run.
type Listener struct {
	opt     Options
	out     *outputFilter
	program *tea.Program
	ended   chan struct{} // closed when drawing has ended

	mu   sync.Mutex
	s    state
	last tea.View // the last drawing
	tall int      // maximum number of lines drawn since the window has this size
}

var _ live.Listener = (*Listener)(nil)

// redraw is the interval of updates, and frames the maximum number of frames per second.
const (
	redraw = 250 * time.Millisecond
	frames = 8
)

// closing is the timeout of Close. A terminal that was stopped (Ctrl-S) accepts no
// output, and everything after Close would wait for it, too.
const closing = 2 * time.Second

// Start begins to draw on a terminal, until Close.
func Start(out *os.File, opt Options) *Listener {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Environ == nil {
		opt.Environ = os.Environ()
	}
	l := &Listener{opt: opt, out: &outputFilter{File: out}, ended: make(chan struct{}),
		last: tea.View{DisableBracketedPasteMode: true, Cursor: &tea.Cursor{Shape: parked}}}
	l.program = tea.NewProgram(model{l: l}, tea.WithInput(nil), tea.WithOutput(l.out), tea.WithEnvironment(opt.Environ),
		tea.WithoutSignalHandler(), tea.WithFPS(frames), tea.WithFilter(l.out.filter))
	go func() {
		defer close(l.ended)
		_, err := l.program.Run()
		l.fail(errors.Join(err, l.clear()))
	}()
	return l
}

// Handle implements live.Listener.
func (l *Listener) Handle(e live.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.s.note(e, l.opt.Now())
}

// Close removes the drawing and leaves the cursor where it began. It may be called more
// than once.
func (l *Listener) Close() error {
	go l.program.Send(closed{})
	select {
	case <-l.ended:
	case <-time.After(closing):
		return errors.New("clear the live view: the terminal accepts no output")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.s.failed
}

// clear removes the drawing. The cursor is on its last line.
func (l *Listener) clear() error {
	l.mu.Lock()
	up := l.tall
	l.mu.Unlock()
	if up == 0 {
		return nil
	}
	_, err := fmt.Fprintf(l.out, "\x1b[%dA\x1b[J", up)
	return err
}

func (l *Listener) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.s.failed = err
}

// model is the library's model; it draws the listener's state.
type model struct {
	l             *Listener
	width, height int
	over          bool
}

// tick requests an update, closed the removal of the drawing.
type (
	tick   struct{}
	closed struct{}
)

func again() tea.Cmd { return tea.Tick(redraw, func(time.Time) tea.Msg { return tick{} }) }

// Init implements tea.Model.
func (m model) Init() tea.Cmd { return again() }

// Update implements tea.Model.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tick:
		return m, again()
	case closed:
		m.over = true
		return m, tea.Quit
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.l.mu.Lock()
		m.l.tall = 0
		m.l.mu.Unlock()
	}
	return m, nil
}

// parked is a cursor shape that leaves the user's setting unchanged.
const parked = tea.CursorShape(-1)

// View implements tea.Model. The cursor stays visible, at the start of a separate line
// below the drawing, so that nothing needs to be restored if the program is killed, and
// typed text appears there.
func (m model) View() tea.View {
	m.l.mu.Lock()
	defer m.l.mu.Unlock()
	if m.over || m.width < 1 || m.height < 1 {
		return m.l.last
	}
	lines := m.l.s.draw(frame{width: m.width - 1, height: m.height - 1, ascii: m.l.opt.ASCII, now: m.l.opt.Now()})
	for len(lines) < m.l.tall {
		// The library loses its position when the drawing shrinks.
		lines = append(lines, line{})
	}
	m.l.tall = len(lines)
	m.l.last = tea.View{Content: render(lines), DisableBracketedPasteMode: true, Cursor: &tea.Cursor{Shape: parked}}
	m.l.last.Cursor.Y = len(lines)
	return m.l.last
}
