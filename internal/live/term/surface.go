package term

import (
	"os"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// outputFilter filters what the library writes to the terminal. The output begins where
// the library left the cursor, at the start of a line.
type outputFilter struct {
	*os.File

	mu   sync.Mutex
	size tea.WindowSizeMsg
	wipe bool // the next output goes to an empty screen
}

const (
	toStart = "\r"           // to the start of the line, in case a user typed something
	wiped   = "\x1b[H\x1b[J" // clears the visible screen and moves the cursor to its top
)

// Write implements io.Writer.
func (s *outputFilter) Write(b []byte) (int, error) {
	s.mu.Lock()
	before := toStart
	if s.wipe {
		before, s.wipe = wiped, false
	}
	s.mu.Unlock()
	if _, err := s.File.Write(append([]byte(before), b...)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// filter processes each message before the library does. When a window is resized, many
// terminals wrap the existing lines again or move them, and the position of the drawing
// becomes unknown: filter starts again on an empty screen. The library then redraws
// everything, after it moves to what it takes for the top of its drawing; the cursor
// cannot move further up than the top of the screen.
func (s *outputFilter) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		s.mu.Lock()
		s.wipe = s.wipe || s.size != (tea.WindowSizeMsg{}) && s.size != size
		s.size = size
		s.mu.Unlock()
	}
	return msg
}
