package traffic

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
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

// admit accepts p.Streams connections that show the token.
func (l *listener) admit(ctx context.Context, p Params) (conns, error) {
	var c conns
	for len(c) < p.Streams {
		fd, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC)
		switch {
		case again(err):
			if ctx.Err() != nil {
				c.close()
				return nil, fmt.Errorf("wait for the client: %d of %d connections came: %w", len(c), p.Streams, context.Cause(ctx))
			}
			continue
		case errors.Is(err, unix.ECONNABORTED):
			continue
		case err != nil:
			c.close()
			return nil, fmt.Errorf("accept connection: %w", err)
		}
		if !knows(ctx, fd, p.Token) {
			unix.Close(fd)
			if l.refused++; l.refused >= strangers {
				c.close()
				return nil, fmt.Errorf("%d peers came without the trial's token", l.refused)
			}
			continue
		}
		c = append(c, fd)
	}
	for _, fd := range c {
		if err := errors.Join(setPatience(fd, patience), writeFull(ctx, fd, []byte{goByte})); err != nil {
			c.close()
			return nil, fmt.Errorf("start the trial: %w", err)
		}
	}
	return c, nil
}

func knows(ctx context.Context, fd int, token string) bool {
	if setPatience(fd, patience) != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, tokenWait)
	defer cancel()
	got := make([]byte, len(token))
	return readFull(ctx, fd, got) == nil && subtle.ConstantTimeCompare(got, []byte(token)) == 1
}

// connect opens p.Streams connections and waits for the server's go.
func connect(ctx context.Context, p Params) (conns, error) {
	addr, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	var c conns
	for len(c) < p.Streams {
		fd, err := dialOne(ctx, addr, p)
		if err == nil {
			c = append(c, fd)
			err = writeFull(ctx, fd, []byte(p.Token))
		}
		if err != nil {
			c.close()
			return nil, err
		}
	}
	for _, fd := range c {
		b := make([]byte, 1)
		if err := readFull(ctx, fd, b); err != nil {
			c.close()
			return nil, fmt.Errorf("wait for the server at %s to start the trial: %w", addr, err)
		}
	}
	return c, nil
}

// conns are the connections of one trial.
type conns []int

func (c conns) close() {
	for _, fd := range c {
		unix.Close(fd)
	}
}

// describe fills in what the kernel tells of the connections.
func (c conns) describe(r *Report) {
	r.Connections = len(c)
	for i, fd := range c {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			continue
		}
		r.TCP.Wire += info.Bytes_sent
		r.TCP.Segments += uint64(info.Segs_out)
		if i > 0 {
			continue
		}
		r.TCP.MSS = int(info.Snd_mss)
		r.TCP.RTT = float64(info.Rtt) / 1e6
		r.TCP.Congestion, _ = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		r.SendBuffer, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
		r.ReceiveBuffer, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	}
}

// retransmits reads how many segments a connection has sent again.
func retransmits(fd int) int64 {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 0
	}
	return int64(info.Total_retrans)
}
