package screen

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// escape processes a sequence that begins with ESC and returns its length, 0 if it is
// incomplete.
func (s *Screen) escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				s.csi(string(b[2:i]), b[i])
				return i + 1
			}
		}
		return 0
	case ']', 'P', '_', '^':
		if i := bytes.Index(b, []byte("\x1b\\")); i > 0 {
			s.unknown(b[:i+2])
			return i + 2
		}
		if i := bytes.IndexByte(b, '\a'); i > 0 && b[1] == ']' {
			s.unknown(b[:i+1])
			return i + 1
		}
		return 0
	case 'M':
		s.up(1)
	default:
		s.unknown(b[:2])
	}
	return 2
}

func (s *Screen) unknown(b []byte) { s.Unknown = append(s.Unknown, string(b)) }

// csi executes a control sequence.
func (s *Screen) csi(args string, final byte) {
	if strings.HasPrefix(args, "?") {
		s.mode(args, final)
		return
	}
	var n []int
	for _, a := range strings.FieldsFunc(args, func(r rune) bool { return r == ';' || r == ':' }) {
		v, err := strconv.Atoi(a)
		if err != nil {
			s.unknown([]byte("\x1b[" + args + string(final)))
			return
		}
		n = append(n, v)
	}
	arg := func(i, otherwise int) int {
		if i < len(n) && n[i] > 0 {
			return n[i]
		}
		return otherwise
	}
	one := arg(0, 1)
	s.pending = s.pending && final == 'm'
	switch final {
	case 'A':
		s.y = max(0, s.y-one)
	case 'B', 'e':
		s.y = min(s.Height-1, s.y+one)
	case 'C', 'a':
		s.x = min(s.Width-1, s.x+one)
	case 'D':
		s.x = max(0, s.x-one)
	case 'E':
		s.x, s.y = 0, min(s.Height-1, s.y+one)
	case 'F':
		s.x, s.y = 0, max(0, s.y-one)
	case 'G', '`':
		s.x = min(s.Width, one) - 1
	case 'd':
		s.y = min(s.Height, one) - 1
	case 'H', 'f':
		s.y, s.x = min(s.Height, one)-1, min(s.Width, arg(1, 1))-1
	case 'J':
		s.eraseScreen(arg(0, 0))
	case 'K':
		s.eraseLine(arg(0, 0))
	case 'X':
		clearCells(s.rows[s.y][s.x:min(s.Width, s.x+one)])
	case 'P':
		row := s.rows[s.y]
		copy(row[s.x:], row[min(s.Width, s.x+one):])
		clearCells(row[max(s.x, s.Width-one):])
	case '@':
		row := s.rows[s.y]
		if s.x+one < s.Width {
			copy(row[s.x+one:], row[s.x:])
		}
		clearCells(row[s.x:min(s.Width, s.x+one)])
	case 'L':
		for range min(one, s.Height) {
			s.rows = slices.Insert(slices.Delete(s.rows, s.Height-1, s.Height), s.y, s.empty())
		}
	case 'M':
		for range min(one, s.Height) {
			s.rows = append(slices.Delete(s.rows, s.y, s.y+1), s.empty())
		}
	case 'b':
		if s.x > 0 {
			last := s.rows[s.y][s.x-1].Text
			for range min(one, s.Width*s.Height) { // more changes nothing that is seen
				s.letter(last, 1)
			}
		}
	case 'm':
		s.graphics(n)
	default:
		s.unknown([]byte("\x1b[" + args + string(final)))
	}
}

// mode sets or resets private modes.
func (s *Screen) mode(args string, final byte) {
	for m := range strings.SplitSeq(args[1:], ";") {
		switch {
		case m == "25" && (final == 'h' || final == 'l'):
			s.Hidden = final == 'l'
		case final == 'h':
			s.Modes = append(s.Modes, m)
		case final == 'l':
			s.Modes = slices.DeleteFunc(s.Modes, func(o string) bool { return o == m })
		default:
			s.unknown([]byte("\x1b[" + args + string(final)))
		}
	}
}

func (s *Screen) up(n int) {
	for range n {
		if s.y > 0 {
			s.y--
			continue
		}
		s.rows = slices.Insert(slices.Delete(s.rows, s.Height-1, s.Height), 0, s.empty())
	}
}

func clearCells(cells []Cell) {
	for i := range cells {
		cells[i] = blank()
	}
}

func (s *Screen) eraseLine(how int) {
	row := s.rows[s.y]
	switch how {
	case 0:
		clearCells(row[s.x:])
	case 1:
		clearCells(row[:s.x+1])
	default:
		clearCells(row)
	}
}

func (s *Screen) eraseScreen(how int) {
	from, to := s.y+1, s.Height
	switch how {
	case 0:
		s.eraseLine(0)
	case 1:
		s.eraseLine(1)
		from, to = 0, s.y
	default:
		from = 0
	}
	for _, row := range s.rows[from:to] {
		clearCells(row)
	}
}

// graphics sets the looks of what comes.
func (s *Screen) graphics(n []int) {
	if len(n) == 0 {
		n = []int{0}
	}
	for i := 0; i < len(n); i++ {
		switch v := n[i]; {
		case v == 0:
			s.style = Style{}
		case v == 1:
			s.style.Bold = true
		case v == 2:
			s.style.Faint = true
		case v == 22:
			s.style.Bold, s.style.Faint = false, false
		case v >= 30 && v <= 37:
			s.style.Foreground = v - 29
		case v >= 90 && v <= 97:
			s.style.Foreground = v - 81
		case v == 39:
			s.style.Foreground = 0
		case v >= 40 && v <= 47:
			s.style.Background = v - 39
		case v >= 100 && v <= 107:
			s.style.Background = v - 91
		case v == 49:
			s.style.Background = 0
		default:
			s.unknown([]byte("\x1b[" + strconv.Itoa(v) + "m"))
			return
		}
	}
}
