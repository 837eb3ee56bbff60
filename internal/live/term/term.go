// Package term shows a run on a terminal while it goes on: the modes with what is known
// of them so far, the trial under way with its rate, the time left and the warnings. It
// draws in place, below what was there before, takes no input and sets no mode of the
// terminal, and it is gone when the run has ended.
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

// Options say what is drawn on.
type Options struct {
	// ASCII leaves out what fonts and terminals without Unicode lack.
	ASCII bool
	// Environ is what TERM, NO_COLOR and their like are taken from.
	Environ []string
	// Now is the clock.
	Now func() time.Time
}

// The least terminal that there is anything to show on.
const (
	MinWidth  = 30
	MinHeight = 6
)

// Listener draws the events of a run. Handle only notes what happened; what is drawn is
// taken from the notes a few times a second, so that a terminal that is slow, or stopped,
// costs a run nothing.
type Listener struct {
	opt     Options
	out     *surface
	program *tea.Program
	ended   chan struct{} // closed when nothing more is drawn

	mu   sync.Mutex
	s    state
	last tea.View // what was drawn
	tall int      // lines of the highest drawing since the window has this size
}

var _ live.Listener = (*Listener)(nil)

// Measures of drawing: what has changed is looked at redraw apart, and drawn at the next
// of so many frames a second.
const (
	redraw = 250 * time.Millisecond
	frames = 8
)

// closing is what Close waits for at most. A terminal that was stopped (Ctrl-S) takes
// nothing, and what comes behind it would wait for it, too.
const closing = 2 * time.Second

// Start begins to draw on a terminal, until Close.
func Start(out *os.File, opt Options) *Listener {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Environ == nil {
		opt.Environ = os.Environ()
	}
	l := &Listener{opt: opt, out: &surface{File: out}, ended: make(chan struct{}),
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

// Close takes the drawing away and leaves the cursor where it began. It may be called
// more than once.
func (l *Listener) Close() error {
	go l.program.Send(closed{})
	select {
	case <-l.ended:
	case <-time.After(closing):
		return errors.New("clear the live view: the terminal takes nothing")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.s.failed
}

// clear takes away what was drawn. The cursor is on its last line then.
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

// model is what the library drives. All that it shows is the listener's.
type model struct {
	l             *Listener
	width, height int
	over          bool
}

// tick asks to look at what has changed, closed to take the drawing away.
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

// parked is the shape of a cursor that is left as its user likes it.
const parked = tea.CursorShape(-1)

// View implements tea.Model. The cursor stays visible, at the start of a line of its own
// below the drawing: so there is nothing to mend for whatever ends this program, and what
// is typed shows up there.
func (m model) View() tea.View {
	m.l.mu.Lock()
	defer m.l.mu.Unlock()
	if m.over || m.width < 1 || m.height < 1 {
		return m.l.last
	}
	lines := m.l.s.draw(frame{width: m.width - 1, height: m.height - 1, ascii: m.l.opt.ASCII, now: m.l.opt.Now()})
	for len(lines) < m.l.tall {
		// The library loses its place when a drawing gets lower.
		lines = append(lines, line{})
	}
	m.l.tall = len(lines)
	m.l.last = tea.View{Content: render(lines), DisableBracketedPasteMode: true, Cursor: &tea.Cursor{Shape: parked}}
	m.l.last.Cursor.Y = len(lines)
	return m.l.last
}
