package term

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/live"
	"tare/internal/testkit/must"
	"tare/internal/wording"
)

var update = flag.Bool("update", false, "write the golden files")

func after(events []live.Event) *state {
	var s state
	for _, e := range events {
		s.note(e, began())
	}
	return &s
}

func drawn(s *state, f frame) []string {
	f.now = began().Add(42 * time.Second)
	var out []string
	for _, l := range s.draw(f) {
		out = append(out, strings.TrimRight(l.String(), " "))
	}
	return out
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	must.File(t, filepath.Join("testdata", name+".txt"), got, *update)
}

func TestDraw(t *testing.T) {
	sizes := []struct {
		name string
		frame
	}{
		{"140", frame{width: 139, height: 49}}, {"80", frame{width: 79, height: 23}}, {"40", frame{width: 39, height: 23}},
		{"80x12", frame{width: 79, height: 11}}, {"80_ascii", frame{width: 79, height: 23, ascii: true}},
	}
	for name, events := range map[string][]live.Event{"opening": opening(), "middle": middle()} {
		for _, size := range sizes {
			t.Run(name+"_"+size.name, func(t *testing.T) {
				golden(t, name+"_"+size.name, strings.Join(drawn(after(events), size.frame), "\n")+"\n")
			})
		}
	}
}

// Whatever the events contain, the drawing stays within its frame, and no text controls
// the terminal.
func TestDrawKeepsToItsFrame(t *testing.T) {
	for name, events := range map[string][]live.Event{"opening": opening(), "middle": middle(), "evil": evil(), "nothing": nothing(), "none": nil} {
		s := after(events)
		for width := 1; width <= 200; width += 1 + width/7 {
			for _, height := range []int{1, 2, 5, 7, 9, 12, 24, 60} {
				for _, ascii := range []bool{false, true} {
					lines := drawn(s, frame{width: width, height: height, ascii: ascii})
					at := fmt.Sprintf("%s at %d x %d", name, width, height)
					must.True(t, len(lines) <= height, "%s: %d lines", at, len(lines))
					for _, l := range lines {
						if wording.Width(l) > width || wording.Clean(l) != strings.TrimSpace(l) && name == "evil" {
							t.Errorf("%s: line %q is %d wide", at, l, wording.Width(l))
						}
						must.True(t, !ascii || !strings.ContainsFunc(l, func(r rune) bool { return r > '~' }) || name == "evil", "%s: %q in ASCII", at, l)
					}
				}
			}
		}
	}
}

func TestSparkline(t *testing.T) {
	for want, values := range map[string][]float64{
		"▁▁▄█": {0, -3, 0.5, 1}, "██▇█": {100, 99, 87, 100}, "▁": {0}, "": nil, "▂█": {1, 4},
	} {
		must.EqualFor(t, values, want, sparkline(values, 4, false))
	}
	must.EqualFor(t, "the last three of four", ":+#", sparkline([]float64{9, 1, 2, 3}, 3, true))
}
