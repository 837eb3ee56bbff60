package tcp

import (
	"strings"
	"testing"
	"time"

	"tare/internal/testkit/must"
	"tare/internal/timelimit"
	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/socket"
)

// slow is a connection that does not end, with the given numbers of unacknowledged bytes in
// sequence; the last one stays.
type slow struct {
	socket.Stream
	left []int
}

func (s *slow) Read([]byte) (int, error)    { return 0, socket.ErrAgain }
func (s *slow) CloseWrite() error           { return nil }
func (s *slow) Info() socket.TCPInfo        { return socket.TCPInfo{} }
func (s *slow) Unacknowledged() (int, bool) { return 0, false }

type acknowledging struct{ *slow }

func (s acknowledging) Unacknowledged() (int, bool) {
	n := s.left[0]
	if len(s.left) > 1 {
		s.left = s.left[1:]
	}
	return max(n, 0), n >= 0
}

// A drain continues as long as the data in flight decreases, and ends when it does not.
func TestDrain(t *testing.T) {
	t.Setenv(timelimit.Variable, "1") // for the texts
	for what, c := range map[string]struct {
		s    socket.Stream
		puts int // in units of the timeout
		says string
	}{
		"it arrives slowly":               {acknowledging{&slow{left: []int{900, 800, 700, 600, 1, 1}}}, 4, "1 bytes did not arrive: the receiver acknowledged none of them within 8s"},
		"nothing arrives":                 {acknowledging{&slow{left: []int{900, 900}}}, 0, "900 bytes did not arrive"},
		"nobody reads it":                 {acknowledging{&slow{left: []int{900, 0, 0}}}, 1, "did not read it to the end within 30s"},
		"acknowledgements unknown":        {&slow{}, 0, "within 30s"},
		"acknowledgements become unknown": {acknowledging{&slow{left: []int{900, 700, -1}}}, 1, "data in flight did not arrive"},
	} {
		e := &streamEnd{Stream: c.s, start: clock.Now().Add(-time.Hour), send: true, warm: true, bins: traffic.NewBinCounter(traffic.Params{})}
		if err := e.finish(); err != nil || !e.draining {
			t.Fatalf("%s: %v, draining %t", what, err, e.draining)
		}
		var err error
		for puts := 0; err == nil; puts++ {
			if err = e.drain(); err != nil {
				break
			}
			must.Require(t, !e.done, "%s: done", what)
			e.start = e.start.Add(-blindDrainFactor*DrainTimeout() - time.Second) // this much later
			if err = e.drain(); err != nil && puts != c.puts {
				t.Errorf("%s: ended after %d waits, want %d", what, puts, c.puts)
			}
		}
		must.True(t, strings.Contains(err.Error(), c.says), "%s: %v, want %q", what, err, c.says)
	}
}
