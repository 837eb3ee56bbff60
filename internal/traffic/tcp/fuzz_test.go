package tcp

import (
	"context"
	"strings"
	"testing"

	"tare/internal/study"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

// strangers is a port to which peers have already sent everything. Each is read a few bytes at a
// time.
type strangers struct {
	socket.Listener
	sent   []string
	opened []*stranger
	idle   int
	cancel context.CancelFunc
}

type stranger struct {
	socket.Stream
	sent, got string
	closed    bool
}

func (l *strangers) Accept([]socket.Stream) (socket.Stream, error) { return l.AcceptNow() }

func (l *strangers) AcceptNow() (socket.Stream, error) {
	if len(l.sent) == 0 {
		const enough = 1000 // to read all that the peers have sent
		if l.idle++; l.idle > enough {
			l.cancel()
		}
		return nil, socket.ErrAgain
	}
	s := &stranger{sent: l.sent[0]}
	l.sent, l.opened = l.sent[1:], append(l.opened, s)
	return s, nil
}

func (s *stranger) ReadNow(b []byte) (int, error) {
	n := copy(b[:min(len(b), 5)], s.sent)
	s.sent = s.sent[n:]
	return n, nil // 0 at the end, as when the peer closes
}

func (s *stranger) Write(b []byte) (int, error) {
	s.got += string(b)
	return len(b), nil
}

func (s *stranger) Close() { s.closed = true }

// FuzzAdmit checks that of any peers of a data port only those with the trial's token and a role of
// it are in the trial, and that no other gets an answer.
func FuzzAdmit(f *testing.F) {
	const token = "0123456789abcdef"
	f.Add(token+"\n"+token, 1, false)
	f.Add("GET / HTTP/1.1\r\n\n"+token, 1, false)
	f.Add(token+"F\n"+token+"R\n"+token+"X", 1, true)
	f.Add(token[:15]+"\n\n\n"+strings.Repeat("\n", 120), 2, false)
	f.Add(token+"F\n"+token+"F\n"+token+"F", 1, true)
	f.Fuzz(func(t *testing.T, peers string, streams int, both bool) {
		p := traffic.Params{Workload: study.Workload{Streams: 1 + (streams%4+4)%4}, Token: token}
		if both {
			p.Direction = study.Both
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l := &strangers{sent: strings.Split(peers, "\n"), cancel: cancel}
		all, err := newAdmitter(l, p).admit(ctx, p)
		if err == nil && len(all) != connections(p) || err != nil && all != nil {
			t.Errorf("%d of %d connections, %v", len(all), connections(p), err)
		}
		texts := strings.Split(peers, "\n")
		for i, s := range l.opened {
			role := strings.TrimPrefix(texts[i], token)
			right := strings.HasPrefix(texts[i], token) && (!both || role != "" && strings.ContainsRune("FR", rune(role[0])))
			switch {
			case s.got != "" && !right:
				t.Errorf("the stranger %q was answered %q", texts[i], s.got)
			case s.got == "" && !s.closed:
				t.Errorf("the peer %q is neither in the trial nor closed", texts[i])
			}
		}
	})
}
