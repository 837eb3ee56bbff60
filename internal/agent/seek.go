package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/timelimit"
	"tare/internal/traffic/admission"
)

// Seeking begins an attempt each seekStep, each of which may take seekPatience: what a node drops while it knows no way must not hold up
// the next. So many are open at once at most.
const (
	seekStep     = time.Millisecond
	seekPatience = 250 * time.Millisecond
	maxSeeking   = 250
)

// Sought is what the client of Seek saw, by the caller's clock: a moment may be off by half of the time that a request to the agent takes.
type Sought struct {
	First     time.Time // the first attempt began
	Connected time.Time // the first SYN was answered whose connection had a response
	FirstByte time.Time // of that response
	Whole     time.Time // the response, with status 200, was complete
	Attempts  int
}

// Seek makes the client begin a request to an address each millisecond, until a server that answers with the token's tag has answered one,
// for at most wait.
func Seek(ctx context.Context, client *Client, dial netip.AddrPort, token string, wait time.Duration) (Sought, error) {
	s, first, err := client.search(ctx, wire.OpSeek, dial, token, wait)
	if err != nil {
		return Sought{}, err
	}
	return Sought{First: first, Connected: first.Add(s.Connected), FirstByte: first.Add(s.FirstByte), Whole: first.Add(s.Whole), Attempts: s.Attempts}, nil
}

// search asks the client for a search, and returns its result with when the first attempt began.
func (c *Client) search(ctx context.Context, op wire.Op, dial netip.AddrPort, token string, wait time.Duration) (wire.Sought, time.Time, error) {
	asked := time.Now()
	reply, err := c.call(ctx, wire.Request{Op: op, Probe: &wire.Probe{Network: "http", Address: dial.String(), Token: token, Host: dial.String()}, Wait: wait})
	answered := time.Now()
	if err != nil {
		return wire.Sought{}, asked, errors.Join(err, c.Err())
	}
	s := reply.Sought
	if s == nil || s.Connected < 0 || s.FirstByte < s.Connected || s.Whole < s.FirstByte {
		return wire.Sought{}, asked, fmt.Errorf("the agent says of its search %+v: out of order (a bug)", s)
	}
	// The request and its reply take equally long, as far as is known.
	return *s, asked.Add(max(0, answered.Sub(asked)-s.Whole) / 2), nil
}

// search searches at the agent. late is the error of one that took too long, about an address and a time.
func search(ctx context.Context, req wire.Request, late string, find func(context.Context, wire.Probe) (wire.Sought, error)) wire.Reply {
	if req.Probe == nil || req.Probe.Token == "" {
		return wire.Reply{ID: req.ID, Error: "a search without an address or a token"}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, req.Wait, fmt.Errorf(late, req.Probe.Address, req.Wait))
	defer cancel()
	s, err := find(ctx, *req.Probe)
	if err != nil {
		return errorReply(req.ID, err)
	}
	return wire.Reply{ID: req.ID, Sought: &s}
}

// sought is Seek at the agent: it begins attempts until one is answered.
func sought(ctx context.Context, k wire.Probe) (wire.Sought, error) {
	ctx, cancel := context.WithCancel(ctx)
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	begun := time.Now()
	found, met := make(chan wire.Sought, maxSeeking), make(chan error, 1)
	places := make(chan struct{}, maxSeeking)
	tick := time.NewTicker(seekStep)
	defer tick.Stop()
	for attempts := 1; ; attempts++ {
		select {
		case places <- struct{}{}:
			open.Go(func() {
				defer func() { <-places }()
				s, err := attempt(ctx, k, begun)
				if err == nil {
					found <- s
				} else if ctx.Err() == nil {
					select {
					case met <- err:
					default:
					}
				}
			})
		default: // as many as may be are open
			attempts--
		}
		select {
		case s := <-found:
			s.Attempts = attempts
			return s, nil
		case <-ctx.Done():
			err := context.Cause(ctx)
			select {
			case first := <-met:
				err = fmt.Errorf("%w; the first attempt: %w", err, first)
			default:
			}
			return wire.Sought{}, err
		case <-tick.C:
		}
	}
}

// attempt is one connection with a request.
func attempt(ctx context.Context, k wire.Probe, begun time.Time) (s wire.Sought, err error) {
	dialer := net.Dialer{Timeout: seekPatience}
	conn, err := dialer.DialContext(ctx, "tcp", k.Address)
	if err != nil {
		return s, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	s.Connected = time.Since(begun)
	until := time.Now().Add(maxProbeTimeout())
	_ = conn.SetDeadline(until) // TCP has deadlines
	noted := &noting{Conn: conn}
	if err := askHTTP(noted, &k, until); err != nil {
		return s, err
	}
	s.FirstByte, s.Whole = noted.first.Sub(begun), time.Since(begun)
	return s, nil
}

// noting notes when the first byte arrives on a connection.
type noting struct {
	net.Conn
	first time.Time
}

// Read reads from the connection.
func (n *noting) Read(b []byte) (int, error) {
	got, err := n.Conn.Read(b)
	if got > 0 && n.first.IsZero() {
		n.first = time.Now()
	}
	return got, err
}

// answerLimit bounds how long the first process of a container answers requests of Seek.
func answerLimit() time.Duration { return timelimit.Scaled(2 * time.Minute) }

// answerOne opens a port on all addresses of the sandbox and answers requests of Seek with the token until one was answered, or its time
// is over. Then the port is closed.
func answerOne(address, token string) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit())
	defer cancel()
	gate, err := admission.Listen(address, "", maxProbeConns)
	if err != nil {
		return err
	}
	respond := answerHTTPProbe(token)
	answerTCPProbes(ctx, gate, func(ctx context.Context, conn admission.Stream) (ours, answered bool) {
		if ours, answered = respond(ctx, conn); answered {
			cancel()
		}
		return ours, answered
	})
	return nil
}
