package term

import (
	"os"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// outputFilter is the terminal as the library is to write to it. What it writes begins at
// where it left the cursor, at the start of a line.
type outputFilter struct {
	*os.File

	mu   sync.Mutex
	size tea.WindowSizeMsg
	wipe bool // what is written next comes onto an empty screen
}

const (
	toStart = "\r"           // of the line, if something was typed meanwhile
	wiped   = "\x1b[H\x1b[J" // all of what is visible is gone, and the cursor at its top
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

// filter sees each message before the library does. When a window changes, many terminals
// break the lines that are there anew, or move them, and nobody can tell where the drawing
// is: it begins again on an empty screen. The library draws all of it then, and moves to
// what it takes for its top before, from which there is no way further up.
func (s *outputFilter) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		s.mu.Lock()
		s.wipe = s.wipe || s.size != (tea.WindowSizeMsg{}) && s.size != size
		s.size = size
		s.mu.Unlock()
	}
	return msg
}
