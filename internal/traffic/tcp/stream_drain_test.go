package tcp

import (
	"strings"
	"testing"
	"time"

	"tare/internal/traffic/socket"
)

// slow is a connection whose end does not come, and of which so many bytes are not
// acknowledged at each look; the last one stays.
type slow struct {
	socket.Stream
	left []int
}

func (s *slow) Read([]byte) (int, error)    { return 0, socket.ErrAgain }
func (s *slow) CloseWrite() error           { return nil }
func (s *slow) Info() socket.TCPInfo        { return socket.TCPInfo{} }
func (s *slow) Unacknowledged() (int, bool) { return 0, false }

type telling struct{ *slow }

func (s telling) Unacknowledged() (int, bool) {
	n := s.left[0]
	if len(s.left) > 1 {
		s.left = s.left[1:]
	}
	return max(n, 0), n >= 0
}

// A drain goes on for as long as what is under way gets less, however long that is,
// and ends when it does not.
func TestDrain(t *testing.T) {
	for what, c := range map[string]struct {
		s    socket.Stream
		puts int // off by so many waits
		says string
	}{
		"it arrives slowly": {telling{&slow{left: []int{900, 800, 700, 600, 1, 1}}}, 4, "1 bytes did not arrive, and within 8s the receiver acknowledged none of them"},
		"nothing arrives":   {telling{&slow{left: []int{900, 900}}}, 0, "900 bytes did not arrive"},
		"nobody reads it":   {telling{&slow{left: []int{900, 0, 0}}}, 1, "did not read it to its end within 30s"},
		"nobody tells":      {&slow{}, 0, "within 30s"},
		"it tells no more":  {telling{&slow{left: []int{900, 700, -1}}}, 1, "did not all arrive"},
	} {
		e := &streamEnd{Stream: c.s, start: time.Now().Add(-time.Hour), send: true, warm: true}
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
			e.start = e.start.Add(-blindDrainFactor*DrainTimeout - time.Second) // so much later
			if err = e.drain(); err != nil && puts != c.puts {
				t.Errorf("%s: ended after %d waits, want %d", what, puts, c.puts)
			}
		}
		if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", what, err, c.says)
		}
	}
}
