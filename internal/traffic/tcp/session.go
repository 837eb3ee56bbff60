package tcp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"tare/internal/traffic"
	"tare/internal/traffic/admission"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
	"tare/internal/unit"
)

// A trial's connections start with the client's token and the server's go: one byte, sent when all
// connections of the trial have shown the token. So both endpoints start their clocks together, and
// a foreign connection is never counted.
const goByte = 'G'

// If payload flows in both directions, each stream has one connection per direction, and the client
// sends a role after the token.
const (
	roleForward = 'F' // the client sends
	roleReverse = 'R' // the server sends
)

// admitter is an open port that accepts the peers of one trial.
type admitter struct{ *admission.Gate }

// newAdmitter returns an admitter for the trial's connections. A relay may open all of them before
// it passes on the first token.
func newAdmitter(l socket.Listener, p traffic.Params) *admitter {
	roles := len(handshakeBytes(p, roleForward)) - len(p.Token)
	return &admitter{admission.New(l, p.Token, roles, connections(p)+connection.MaxRefused)}
}

// admit accepts the connections of a trial, which send the token. It returns those with payload
// from the client first.
func (l *admitter) admit(ctx context.Context, p traffic.Params) (c connection.List, err error) {
	var reverse connection.List
	defer func() {
		l.Finish() // all that still wait are not of this trial
		if err != nil {
			append(c, reverse...).Close()
			c = nil
		}
	}()
	for len(c)+len(reverse) < connections(p) {
		s, role, err := l.Next()
		switch {
		case socket.IsAgain(err) && ctx.Err() != nil:
			return c, fmt.Errorf("wait for the client: %d of %d connections arrived%s: %w", len(c)+len(reverse), connections(p), l.refusals(), context.Cause(ctx))
		case socket.IsAgain(err):
		case err != nil:
			return c, fmt.Errorf("accept connection: %w", err)
		case p.Both() && role[0] == roleReverse && len(reverse) < p.Streams:
			reverse = append(reverse, s)
		case (!p.Both() || role[0] == roleForward) && len(c) < p.Streams:
			c = append(c, s)
		default:
			s.Close()
			l.Refused++
		}
		if err := l.tooMany(); err != nil {
			return c, err
		}
	}
	c, reverse = append(c, reverse...), nil
	for _, s := range c {
		if err := connection.WriteFull(ctx, s, []byte{goByte}); err != nil {
			return c, fmt.Errorf("start the trial: %w", err)
		}
	}
	return c, nil
}

// tooMany returns an error if so many peers came without the token that something else uses the
// port.
func (l *admitter) tooMany() error {
	if l.Refused < connection.MaxRefused {
		return nil
	}
	return fmt.Errorf("%d peers connected without the trial's token", l.Refused)
}

// refusals returns how many peers were refused, to append to an error; empty for none.
func (l *admitter) refusals() string {
	if l.Refused == 0 {
		return ""
	}
	return ", and " + unit.Count(l.Refused, "peer", "peers") + " without the trial's token"
}

// handshakeBytes returns what the client sends at the start of a connection.
func handshakeBytes(p traffic.Params, role byte) []byte {
	if p.Both() {
		return append([]byte(p.Token), role)
	}
	return []byte(p.Token)
}

// dialAttempts is how many times each connection of a trial is attempted before the trial fails. Each attempt counts.
const dialAttempts = 2

// dial opens a connection of a trial, and counts its attempts.
func dial(ctx context.Context, n path, to netip.AddrPort, p traffic.Params, tried *connection.Tries) (s socket.Stream, err error) {
	for range dialAttempts {
		began := clock.Now()
		s, err = n.net.DialTCP(ctx, to, connection.Options(p))
		f, failed := connection.FailureOf(err)
		switch {
		case err == nil:
			tried.Open(connection.Late(began.Since(), func() int64 { return s.Info().Retransmits }))
			return s, nil
		case !failed || ctx.Err() != nil:
			return nil, err
		}
		tried.Open(false)
		tried.Add(f)
	}
	return nil, err
}

// connect opens the connections of a trial, in the order of admit, and waits for the server's go. tried is what it
// attempted, which an error has, too.
func connect(ctx context.Context, n path, p traffic.Params) (c connection.List, tried connection.Tries, err error) {
	c, err = open(ctx, n, p, &tried)
	return c, tried, traffic.WithAttempts(err, tried.Attempts)
}

func open(ctx context.Context, n path, p traffic.Params, tried *connection.Tries) (connection.List, error) {
	addr, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return nil, fmt.Errorf("connect to %q: %w", p.Address, err)
	}
	var c connection.List
	for len(c) < connections(p) {
		role := byte(roleForward)
		if len(c) >= p.Streams {
			role = roleReverse
		}
		s, err := dial(ctx, n, addr, p, tried)
		if err == nil {
			c = append(c, s)
			err = connection.WriteFull(ctx, s, handshakeBytes(p, role))
		}
		if err != nil {
			c.Close()
			return nil, err
		}
	}
	for _, s := range c {
		var got [1]byte
		err := connection.ReadFull(ctx, s, got[:])
		if err == nil && got[0] != goByte {
			err = errors.New("unexpected reply: it is not the trial's server")
		}
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("wait for the server at %s to start the trial: %w", addr, err)
		}
	}
	return c, nil
}

// server is the listening endpoint of a TCP workload.
type server struct {
	listener *admitter
	p        traffic.Params
	serve    func(context.Context, connection.List, traffic.Params) (traffic.Report, error)
}

// listen opens the port of a TCP workload.
func listen(n path, p traffic.Params, serve func(context.Context, connection.List, traffic.Params) (traffic.Report, error)) (traffic.Server, error) {
	a, err := n.net.ListenTCP(p.Address, connection.Options(p))
	if err != nil {
		return nil, err
	}
	return &server{listener: newAdmitter(a, p), p: p, serve: serve}, nil
}

func (s *server) Port() uint16 { return s.listener.Port() }

// Serve serves the warm-up transfer and then one transfer per round, or the whole trial as one
// transfer if there are no rounds.
func (s *server) Serve(ctx context.Context, _ traffic.Peer) (traffic.Report, error) {
	defer thread.PauseGC()()
	defer s.listener.Close()
	r, err := s.rounds(ctx)
	s.listener.CountQueued()
	r.Refused = s.listener.Refused
	return r, err
}

func (s *server) rounds(ctx context.Context) (traffic.Report, error) {
	if s.p.Rounds == 0 {
		return s.once(ctx, s.p)
	}
	total, err := s.once(ctx, s.p.WarmupTransfer())
	total.Window = traffic.Window{} // the warm-up does not count
	for range s.p.Rounds {
		if err != nil {
			break
		}
		var r traffic.Report
		r, err = s.once(ctx, s.p.SliceTransfer(s.p.Slice))
		total.AddSlice(r)
	}
	return total, err
}

func (s *server) once(ctx context.Context, p traffic.Params) (traffic.Report, error) {
	c, err := s.listener.admit(ctx, p)
	if err != nil {
		return traffic.Report{}, err
	}
	return s.serve(ctx, c, p)
}
