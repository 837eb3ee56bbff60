package screen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testkit/must"
)

func TestScreen(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
		x, y int
	}{
		"lines":              {"one\r\ntwo", []string{"one", "two"}, 3, 1},
		"wraps":              {"0123456789a", []string{"0123456789", "a"}, 1, 1},
		"waits at the edge":  {"0123456789\rX", []string{"X123456789"}, 1, 0},
		"scrolls":            {"a\r\nb\r\nc\r\nd\r\ne", []string{"b", "c", "d", "e"}, 1, 3},
		"moves":              {"\x1b[3;4HX\x1b[A\x1b[2DY\x1b[BZ\x1b[2CU\x1b[GV\x1b[1dW", []string{" W", "  Y", "V  Z  U"}, 2, 0},
		"erases":             {"aaaa\r\nbbbb\r\ncccc\x1b[2;2H\x1b[K\x1b[3;3H\x1b[1K\x1b[H\x1b[X", []string{" aaa", "b", "   c"}, 0, 0},
		"erases below":       {"aaaa\r\nbbbb\r\ncccc\x1b[2;2H\x1b[J", []string{"aaaa", "b"}, 1, 1},
		"erases all":         {"aaaa\x1b[2Jb", []string{"    b"}, 5, 0},
		"inserts, deletes":   {"abcd\x1b[2G\x1b[2@\x1b[5G\x1b[P", []string{"a  bd"}, 4, 0},
		"lines in and out":   {"a\r\nb\r\nc\x1b[2H\x1b[L\x1b[H\x1b[M", []string{"", "b", "c"}, 0, 0},
		"repeats":            {"-\x1b[3b", []string{"----"}, 4, 0},
		"wide":               {"界a\x1b[4G界界界界", []string{"界a界界界", "界"}, 2, 1},
		"back, tab, up":      {"ab\bX\tY\r\n\x1bMZ", []string{"ZX      Y"}, 1, 0},
		"stays on the glass": {"\x1b[99;99H\x1b[99B\x1b[99CX", []string{"", "", "", "         X"}, 9, 3},
	} {
		t.Run(name, func(t *testing.T) {
			whole, pieces := New(10, 4), New(10, 4)
			_, _ = whole.Write([]byte(c.in))
			for i := range len(c.in) {
				_, _ = pieces.Write([]byte{c.in[i]})
			}
			for _, s := range []*Screen{whole, pieces} {
				x, y := s.Cursor()
				if diff := cmp.Diff(c.want, s.Lines()); diff != "" || x != c.x || y != c.y || len(s.Unknown) > 0 {
					t.Errorf("cursor at %d, %d, want %d, %d; unknown %q; (-want +got):\n%s", x, y, c.x, c.y, s.Unknown, diff)
				}
			}
		})
	}
}

func TestLooks(t *testing.T) {
	s := New(10, 2)
	_, _ = s.Write([]byte("\x1b[1;31ma\x1b[22;92;44mb\x1b[39;49mc\x1b[2md\x1b[me\x1b[?25l\x1b[?2004;7h\x1b[?7l\x1b]0;title\x07\x1b[38;5;3mf"))
	want := []Style{{2, 0, true, false}, {11, 5, false, false}, {}, {0, 0, false, true}, {}, {}}
	for i, w := range want {
		if got := s.Rows()[0][i].Style; got != w {
			t.Errorf("cell %d: %+v, want %+v", i, got, w)
		}
	}
	if !s.Hidden || !slices.Equal(s.Modes, []string{"2004"}) || len(s.Unknown) != 2 {
		t.Errorf("hidden %t, modes %q, unknown %q", s.Hidden, s.Modes, s.Unknown)
	}
}

func TestResize(t *testing.T) {
	for _, breaks := range []bool{true, false} {
		s := New(10, 3)
		_, _ = s.Write([]byte("01234567\r\nb\r\nc"))
		s.Resize(5, 3, breaks)
		want := "01234\nb\nc"
		if breaks {
			want = "01234|567\nb\nc"
		}
		x, y := s.Cursor()
		must.EqualFor(t, fmt.Sprintf("breaks %t", breaks), []any{want, 1, 2}, []any{strings.Join(append(s.Above(), strings.Join(s.Lines(), "\n")), "|"), x, y})
	}
}

func FuzzWrite(f *testing.F) {
	f.Add([]byte("a\x1b[3;4Hb\x1b[?25l\x1b]0;x\x07\x1b[38;5;1m\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := New(7, 3)
		_, _ = s.Write(b)
		if x, y := s.Cursor(); x < 0 || x >= 7 || y < 0 || y >= 3 || len(s.Rows()) != 3 {
			t.Fatalf("cursor at %d, %d of %d rows", x, y, len(s.Rows()))
		}
	})
}
