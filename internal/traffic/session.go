package traffic

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/netip"
	"time"
)

// A trial's connections begin with the client's token and the server's go: one
// byte, sent when all connections of the trial have shown theirs. So both ends
// start their clocks together, and a stranger is never counted.
const goByte = 'G'

// tokenWait is how long a peer may take to show its token. A stranger that
// stalls can hold up the others by no more than this.
const tokenWait = time.Second

// strangers is how many peers without the token are turned away before the
// server gives up: something else has taken to that port.
const strangers = 100

// listener is an open port that admits the peers of one trial.
type listener struct {
	acceptor
	refused int
}

// admit accepts p.Streams connections that show the token.
func (l *listener) admit(ctx context.Context, p Params) (conns, error) {
	var c conns
	for len(c) < p.Streams {
		s, err := l.accept()
		switch {
		case again(err):
			if ctx.Err() != nil {
				c.close()
				return nil, fmt.Errorf("wait for the client: %d of %d connections came: %w", len(c), p.Streams, context.Cause(ctx))
			}
			continue
		case err != nil:
			c.close()
			return nil, fmt.Errorf("accept connection: %w", err)
		}
		if !knows(ctx, s, p.Token) {
			s.close()
			if l.refused++; l.refused >= strangers {
				c.close()
				return nil, fmt.Errorf("%d peers came without the trial's token", l.refused)
			}
			continue
		}
		c = append(c, s)
	}
	for _, s := range c {
		if err := writeFull(ctx, s, []byte{goByte}); err != nil {
			c.close()
			return nil, fmt.Errorf("start the trial: %w", err)
		}
	}
	return c, nil
}

func knows(ctx context.Context, s stream, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, tokenWait)
	defer cancel()
	got := make([]byte, len(token))
	return readFull(ctx, s, got) == nil && subtle.ConstantTimeCompare(got, []byte(token)) == 1
}

// connect opens p.Streams connections and waits for the server's go.
func connect(ctx context.Context, n network, p Params) (conns, error) {
	addr, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	var c conns
	for len(c) < p.Streams {
		s, err := n.dialTCP(ctx, addr, p)
		if err == nil {
			c = append(c, s)
			err = writeFull(ctx, s, []byte(p.Token))
		}
		if err != nil {
			c.close()
			return nil, err
		}
	}
	for _, s := range c {
		if err := readFull(ctx, s, make([]byte, 1)); err != nil {
			c.close()
			return nil, fmt.Errorf("wait for the server at %s to start the trial: %w", addr, err)
		}
	}
	return c, nil
}

// conns are the connections of one trial.
type conns []stream

func (c conns) close() {
	for _, s := range c {
		s.close()
	}
}

// describe fills in what the kernel tells of the connections.
func (c conns) describe(r *Report) {
	r.Connections = len(c)
	for i, s := range c {
		st := told(s)
		r.TCP.Wire += st.sent
		r.TCP.Segments += st.segments
		if i > 0 {
			continue
		}
		r.TCP.MSS, r.TCP.RTT, r.TCP.Congestion = st.mss, st.rtt, st.congestion
		r.SendBuffer, r.ReceiveBuffer = st.sendBuffer, st.receiveBuffer
	}
}

// told is what the kernel tells of a connection, zero where it tells nothing.
func told(s stream) tcpState {
	t, ok := s.(teller)
	if !ok {
		return tcpState{}
	}
	st, err := t.tell()
	if err != nil {
		return tcpState{}
	}
	return st
}
