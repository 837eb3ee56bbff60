package tcp

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// A trial's connections begin with the client's token and the server's go: one
// byte, sent when all connections of the trial have shown theirs. So both ends
// start their clocks together, and a stranger is never counted.
const goByte = 'G'

// tokenTimeout is how long a peer may take to show its token. A stranger that
// stalls can hold up the others by no more than this.
const tokenTimeout = time.Second

// Where payload flows both ways, each stream has a connection for each way, and
// the client says behind the token which one it is.
const (
	roleForward = 'F' // the client sends
	roleReverse = 'R' // the server sends
)

// maxRefused is how many peers without the token are turned away before the
// server gives up: something else has taken to that port.
const maxRefused = 100

// admitter is an open port that admits the peers of one trial.
type admitter struct {
	socket.Listener
	refused int
}

// admit accepts the connections of a trial, which show the token. Those that
// carry payload from the client come first.
func (l *admitter) admit(ctx context.Context, p traffic.Params) (c conns, err error) {
	var reverse conns
	for len(c)+len(reverse) < connections(p) {
		s, err := l.Accept()
		switch {
		case socket.IsAgain(err):
			if ctx.Err() != nil {
				n := len(c) + len(reverse)
				append(c, reverse...).close()
				return nil, fmt.Errorf("wait for the client: %d of %d connections came: %w", n, connections(p), context.Cause(ctx))
			}
			continue
		case err != nil:
			append(c, reverse...).close()
			return nil, fmt.Errorf("accept connection: %w", err)
		}
		role, ok := readToken(ctx, s, p)
		switch {
		case ok && role == roleReverse && len(reverse) < p.Streams:
			reverse = append(reverse, s)
		case ok && role == roleForward && len(c) < p.Streams:
			c = append(c, s)
		default:
			s.Close()
			if l.refused++; l.refused >= maxRefused {
				append(c, reverse...).close()
				return nil, fmt.Errorf("%d peers came without the trial's token", l.refused)
			}
		}
	}
	c = append(c, reverse...)
	for _, s := range c {
		if err := writeFull(ctx, s, []byte{goByte}); err != nil {
			c.close()
			return nil, fmt.Errorf("start the trial: %w", err)
		}
	}
	return c, nil
}

// readToken reads a peer's token, and its role where the trial has roles.
func readToken(ctx context.Context, s socket.Stream, p traffic.Params) (role byte, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	got := make([]byte, len(handshakeBytes(p, roleForward)))
	if readFull(ctx, s, got) != nil || subtle.ConstantTimeCompare(got[:len(p.Token)], []byte(p.Token)) != 1 {
		return 0, false
	}
	if p.Both {
		return got[len(p.Token)], true
	}
	return roleForward, true
}

// handshakeBytes is what the client says on a connection.
func handshakeBytes(p traffic.Params, role byte) []byte {
	if p.Both {
		return append([]byte(p.Token), role)
	}
	return []byte(p.Token)
}

// connect opens the connections of a trial, in the order of admit, and waits for
// the server's go.
func connect(ctx context.Context, n path, p traffic.Params) (conns, error) {
	addr, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return nil, fmt.Errorf("connect to %q: %w", p.Address, err)
	}
	var c conns
	for len(c) < connections(p) {
		role := byte(roleForward)
		if len(c) >= p.Streams {
			role = roleReverse
		}
		s, err := n.net.DialTCP(ctx, addr, optionsOf(p))
		if err == nil {
			c = append(c, s)
			err = writeFull(ctx, s, handshakeBytes(p, role))
		}
		if err != nil {
			c.close()
			return nil, err
		}
	}
	for _, s := range c {
		var got [1]byte
		err := readFull(ctx, s, got[:])
		if err == nil && got[0] != goByte {
			err = errors.New("it said something else than go: it is not the trial's server")
		}
		if err != nil {
			c.close()
			return nil, fmt.Errorf("wait for the server at %s to start the trial: %w", addr, err)
		}
	}
	return c, nil
}

// conns are the connections of one trial.
type conns []socket.Stream

func (c conns) close() {
	for _, s := range c {
		s.Close()
	}
}

// fillReport fills in what the kernel tells of the connections.
func (c conns) fillReport(r *traffic.Report) {
	r.Connections = len(c)
	for i, s := range c {
		st := s.Info()
		r.TCP.Wire += st.Sent
		r.TCP.Resent += st.Resent
		r.TCP.Received += st.Received
		r.TCP.Segments += st.Segments
		if i > 0 {
			continue
		}
		r.TCP.MSS, r.TCP.RTT, r.TCP.Congestion = st.MSS, st.RTT, st.Congestion
		r.SendBuffer, r.ReceiveBuffer = st.SendBuffer, st.ReceiveBuffer
	}
}

// readFull fills b or fails. It is for handshakes, not for payload.
func readFull(ctx context.Context, s socket.Stream, b []byte) error {
	return moveFull(ctx, b, func(b []byte) (int, error) {
		n, err := s.Read(b)
		if err == nil && n == 0 {
			err = errors.New("the peer closed the connection")
		}
		return n, err
	})
}

// writeFull sends all of b or fails. It is for handshakes, not for payload.
func writeFull(ctx context.Context, s socket.Stream, b []byte) error {
	return moveFull(ctx, b, s.Write)
}

// moveFull repeats a call that moves a part of b until all of it is through.
func moveFull(ctx context.Context, b []byte, move func([]byte) (int, error)) error {
	for len(b) > 0 {
		n, err := move(b)
		switch {
		case err == nil:
			b = b[n:]
		case !socket.IsAgain(err):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
	return nil
}

// server is the listening end of a TCP workload.
type server struct {
	listener *admitter
	p        traffic.Params
	serve    func(context.Context, conns, traffic.Params) (traffic.Report, error)
}

// listen opens the port of a TCP workload.
func listen(n path, p traffic.Params, serve func(context.Context, conns, traffic.Params) (traffic.Report, error)) (traffic.Server, error) {
	a, err := n.net.ListenTCP(p.Address, optionsOf(p))
	if err != nil {
		return nil, err
	}
	return &server{listener: &admitter{Listener: a}, p: p, serve: serve}, nil
}

func (s *server) Port() uint16 { return s.listener.Port() }

// Serve serves the opening transfer and then one a round, or the whole trial as
// one where there are no rounds.
func (s *server) Serve(ctx context.Context, _ traffic.Peer) (traffic.Report, error) {
	defer thread.PauseGC()()
	defer s.listener.Close()
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
	r, err := s.serve(ctx, c, p)
	r.Refused = s.listener.refused
	return r, err
}
