// Package screen is an in-memory terminal: it interprets what a program writes and keeps
// what a user would see. Tests and the script that takes pictures use it. It implements
// the sequences of ECMA-48 and DEC that programs use to draw in place, and records those
// that it does not know.
package screen

import (
	"slices"
	"strings"
	"unicode/utf8"

	"tare/internal/wording"
)

// Style is the style of a cell. Colours are those of the terminal's theme, 1 to 16 (black
// to bright white); 0 is the default.
type Style struct {
	Foreground, Background int
	Bold, Faint            bool
}

// Cell is one position of the screen. Text is empty to the right of a wide character.
type Cell struct {
	Text  string
	Style Style
}

// Screen is an in-memory terminal. The zero value is not usable; see New.
type Screen struct {
	Width, Height int
	Hidden        bool     // the cursor is hidden
	Unknown       []string // unknown sequences
	Modes         []string // private modes that were set and not reset, in that order

	rows    [][]Cell
	x, y    int
	pending bool // the next character goes to the next line
	style   Style
	rest    []byte // incomplete sequence
	scroll  [][]Cell
}

func blank() Cell { return Cell{Text: " "} }

// New returns an empty screen.
func New(width, height int) *Screen {
	s := &Screen{Width: width, Height: height}
	for range height {
		s.rows = append(s.rows, s.empty())
	}
	return s
}

func (s *Screen) empty() []Cell { return slices.Repeat([]Cell{blank()}, s.Width) }

// Write implements io.Writer. It accepts sequences and characters that are split over
// several calls.
func (s *Screen) Write(b []byte) (int, error) {
	s.rest = append(s.rest, b...)
	for len(s.rest) > 0 {
		n := s.next(s.rest)
		if n == 0 {
			break
		}
		s.rest = s.rest[n:]
	}
	return len(b), nil
}

// next processes one character or sequence and returns its length, 0 if it is incomplete.
func (s *Screen) next(b []byte) int {
	switch c := b[0]; {
	case c == 0x1b:
		return s.escape(b)
	case c < ' ' || c == 0x7f:
		s.control(c)
		return 1
	}
	if !utf8.FullRune(b) {
		return 0
	}
	r, n := utf8.DecodeRune(b)
	s.letter(string(r), wording.Width(string(r)))
	return n
}

func (s *Screen) control(c byte) {
	switch c {
	case '\r':
		s.x, s.pending = 0, false
	case '\n', '\v', '\f':
		s.lineFeed()
	case '\b':
		s.x, s.pending = max(0, s.x-1), false
	case '\t':
		s.x, s.pending = min(s.Width-1, (s.x/8+1)*8), false
	}
}

func (s *Screen) lineFeed() {
	s.pending = false
	if s.y < s.Height-1 {
		s.y++
		return
	}
	s.scroll = append(s.scroll, s.rows[0])
	s.rows = append(s.rows[1:], s.empty())
}

func (s *Screen) letter(text string, width int) {
	if width == 0 {
		if s.x > 0 {
			s.rows[s.y][s.x-1].Text += text
		}
		return
	}
	if s.pending || s.x+width > s.Width {
		s.x = 0
		s.lineFeed()
	}
	s.rows[s.y][s.x] = Cell{text, s.style}
	for i := 1; i < width; i++ {
		s.rows[s.y][s.x+i] = Cell{"", s.style}
	}
	if s.x += width; s.x >= s.Width {
		s.x, s.pending = s.Width-1, true
	}
}

// Resize changes the size. If breaks is set, a line that is too long is wrapped, as most
// terminals do; otherwise it is cut.
func (s *Screen) Resize(width, height int, breaks bool) {
	var rows [][]Cell
	y := s.y
	for i, r := range s.rows {
		pieces := [][]Cell{r}
		if used := len(trimmed(r)); breaks && used > width {
			pieces = nil
			for piece := range slices.Chunk(r[:used], width) {
				pieces = append(pieces, piece)
			}
			if i < s.y {
				y += len(pieces) - 1
			}
		}
		for _, p := range pieces {
			row := slices.Repeat([]Cell{blank()}, width)
			copy(row, p)
			rows = append(rows, row)
		}
	}
	for len(rows) > height && len(rows)-1 > y && len(trimmed(rows[len(rows)-1])) == 0 {
		rows = rows[:len(rows)-1]
	}
	s.Width, s.Height = width, height
	for len(rows) > height {
		s.scroll, rows, y = append(s.scroll, rows[0]), rows[1:], y-1
	}
	for len(rows) < height {
		rows = append(rows, s.empty())
	}
	s.rows, s.x, s.y, s.pending = rows, min(s.x, width-1), max(0, y), false
}

func trimmed(row []Cell) []Cell {
	n := len(row)
	for n > 0 && row[n-1] == blank() {
		n--
	}
	return row[:n]
}

// Cursor is the position of the next character.
func (s *Screen) Cursor() (x, y int) { return s.x, s.y }

// Rows are the visible lines.
func (s *Screen) Rows() [][]Cell { return s.rows }

// All are the lines that have scrolled off the top, followed by the visible ones.
func (s *Screen) All() [][]Cell { return slices.Concat(s.scroll, s.rows) }

// Lines are the texts of the visible lines, without trailing spaces and empty lines.
func (s *Screen) Lines() []string { return lines(s.rows) }

// Above are the texts of the lines that have scrolled off the top.
func (s *Screen) Above() []string { return lines(s.scroll) }

func lines(rows [][]Cell) []string {
	var out []string
	for _, r := range rows {
		var b strings.Builder
		for _, c := range r {
			b.WriteString(c.Text)
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// String is the visible text, one line each.
func (s *Screen) String() string { return strings.Join(s.Lines(), "\n") + "\n" }
