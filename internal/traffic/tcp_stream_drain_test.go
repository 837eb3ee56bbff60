package traffic

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// slow is a connection whose end does not come, and of which so many bytes are not
// acknowledged at each look; the last one stays.
type slow struct {
	stream
	left []int
}

func (s *slow) read([]byte) (int, error) { return 0, errAgain }
func (s *slow) closeWrite() error        { return nil }

type telling struct{ *slow }

func (s telling) queued() (int, error) {
	n := s.left[0]
	if len(s.left) > 1 {
		s.left = s.left[1:]
	}
	if n < 0 {
		return 0, errors.New("it does not tell")
	}
	return n, nil
}

// A drain goes on for as long as what is under way gets less, however long that is,
// and ends when it does not.
func TestDrain(t *testing.T) {
	for what, c := range map[string]struct {
		s    stream
		puts int // off by so many waits
		says string
	}{
		"it arrives slowly": {telling{&slow{left: []int{900, 800, 700, 600, 1, 1}}}, 4, "1 bytes did not arrive, and within 5s the receiver acknowledged none of them"},
		"nothing arrives":   {telling{&slow{left: []int{900, 900}}}, 0, "900 bytes did not arrive"},
		"nobody reads it":   {telling{&slow{left: []int{900, 0, 0}}}, 1, "did not read it to its end within 30s"},
		"nobody tells":      {&slow{}, 0, "within 30s"},
		"it tells no more":  {telling{&slow{left: []int{900, 700, -1}}}, 1, "did not all arrive"},
	} {
		e := &streamEnd{stream: c.s, start: time.Now().Add(-time.Hour), send: true, warm: true}
		if err := e.finish(); err != nil || !e.draining {
			t.Fatalf("%s: %v, draining %t", what, err, e.draining)
		}
		var err error
		for puts := 0; err == nil; puts++ {
			if err = e.drain(); err != nil {
				break
			}
			if e.done {
				t.Fatalf("%s: done", what)
			}
			e.start = e.start.Add(-blindDrain*DrainWait - time.Second) // so much later
			if err = e.drain(); err != nil && puts != c.puts {
				t.Errorf("%s: ended after %d waits, want %d", what, puts, c.puts)
			}
		}
		if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", what, err, c.says)
		}
	}
}
