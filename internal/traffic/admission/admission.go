// Package admission opens a port for peers that show a token first. Others are refused: they are
// counted, take a bounded amount of memory, and delay nobody.
package admission

import (
	"crypto/subtle"
	"io"
	"slices"
	"time"

	"tare/internal/timelimit"
	"tare/internal/traffic/socket"
)

// tokenTimeout is how long a peer may take to send its token.
func tokenTimeout() time.Duration { return timelimit.Scaled(time.Second) }

// maxQueued bounds how many connections are taken from the listen queue at the end. It is more than
// the queue holds.
const maxQueued = 1 << 12

// maxReads is how many of the waiting connections are read at once. The portable implementation needs
// about 1 ms for each that is silent.
const maxReads = 16

// Gate is an open TCP port whose peers send a token and then a fixed number of further bytes. It is
// for use by one goroutine.
type Gate struct {
	socket.Listener
	// Refused counts the peers without the token.
	Refused int

	token   string
	further int // bytes after the token
	room    int
	waiting []*arrival // by age
	streams []socket.Stream
	next    int // of waiting, the one read last
}

// arrival is a connection that has not yet sent its token.
type arrival struct {
	stream socket.Stream
	got    []byte
	by     time.Time
}

// New returns a Gate on an open listener. At most room connections wait for their token at once; of
// more, the oldest is refused.
func New(l socket.Listener, token string, further, room int) *Gate {
	return &Gate{Listener: l, token: token, further: further, room: max(room, 1)}
}

// Listen opens a Gate on an address. Close ends a call of Next.
func Listen(address, token string, room int) (*Gate, error) {
	l, err := socket.ListenProbes(address)
	if err != nil {
		return nil, err
	}
	return New(l, token, 0, room), nil
}

// Stream is a connection whose peer has sent the token.
type Stream = socket.Stream

// IsAgain reports whether Next returned because it timed out.
func IsAgain(err error) bool { return socket.IsAgain(err) }

// Next returns the next connection whose peer has sent the token, and what followed the token. It
// returns an error for which IsAgain is true if there is none yet, after socket.PollTimeout at most.
func (g *Gate) Next() (socket.Stream, []byte, error) {
	if err := g.acceptSome(); err != nil {
		return nil, nil, err
	}
	if a := g.readSome(); a != nil {
		return a.stream, a.got[len(g.token):], nil
	}
	g.refuseLate()
	return nil, nil, socket.ErrAgain
}

// acceptSome waits for a connection or for a token. If several connections wait already, it takes all
// that have arrived, so that the newest are read soon.
func (g *Gate) acceptSome() error {
	g.streams = g.streams[:0]
	for _, a := range g.waiting {
		g.streams = append(g.streams, a.stream)
	}
	s, err := g.Accept(g.streams)
	for n := 1; err == nil; n++ {
		if len(g.waiting) >= g.room {
			g.refuse(0)
		}
		g.waiting = append(g.waiting, &arrival{stream: s, got: make([]byte, 0, len(g.token)+g.further), by: time.Now().Add(tokenTimeout())})
		if len(g.waiting) == 1 || n == g.room {
			return nil
		}
		s, err = g.AcceptNow()
	}
	if socket.IsAgain(err) {
		return nil
	}
	return err
}

// readSome reads from the newest connection and from the next few others, and returns the first
// whose peer has sent the token. It refuses those that sent something else.
func (g *Gate) readSome() *arrival {
	for n := range min(maxReads, len(g.waiting)) {
		i := len(g.waiting) - 1
		if n > 0 {
			g.next--
			if g.next < 0 || g.next > i {
				g.next = i
			}
			i = g.next
		}
		if i < 0 {
			break // all were refused
		}
		a := g.waiting[i]
		complete, err := a.read()
		if complete && subtle.ConstantTimeCompare(a.got[:len(g.token)], []byte(g.token)) == 1 {
			g.waiting = slices.Delete(g.waiting, i, i+1)
			return a
		}
		if complete || err != nil {
			g.refuse(i)
		}
	}
	return nil
}

// refuseLate refuses the connections whose peers have not sent their token in time.
func (g *Gate) refuseLate() {
	for now := time.Now(); len(g.waiting) > 0 && now.After(g.waiting[0].by); {
		g.refuse(0)
	}
}

// read reads what has arrived, and reports whether it is all that is expected. The error is that no
// more will come.
func (a *arrival) read() (complete bool, err error) {
	if len(a.got) < cap(a.got) {
		n, err := a.stream.ReadNow(a.got[len(a.got):cap(a.got)])
		switch {
		case socket.IsAgain(err):
		case err != nil:
			return false, err
		case n == 0:
			return false, io.EOF
		}
		a.got = a.got[:len(a.got)+n]
	}
	return len(a.got) == cap(a.got), nil
}

func (g *Gate) refuse(i int) {
	g.waiting[i].stream.Close()
	g.waiting = slices.Delete(g.waiting, i, i+1)
	g.Refused++
}

// Finish refuses the connections that still wait for their token, and returns how many there are.
// The port stays open.
func (g *Gate) Finish() (n int) {
	for n = len(g.waiting); len(g.waiting) > 0; {
		g.refuse(0)
	}
	return n
}

// CountQueued refuses the connections that nobody has accepted yet. Call it when all peers of the
// trial have ended.
func (g *Gate) CountQueued() {
	g.Finish()
	for range maxQueued {
		s, err := g.AcceptNow()
		if err != nil {
			return
		}
		s.Close()
		g.Refused++
	}
}
