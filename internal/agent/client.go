package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/agent/wire"
	"tare/internal/observe/netstack"
	"tare/internal/traffic"
)

// handshakeTimeout bounds how long a started agent may take to say hello.
const handshakeTimeout = 5 * time.Second

// closeTimeout is how long an agent may take to end by itself.
const closeTimeout = 2 * time.Second

// exitReasonTimeout bounds how long it may take to learn how an agent ended. That of a process
// is known at once; an engine has to be asked, and may just be ending itself.
const exitReasonTimeout = 3 * time.Second

// replyTimeout bounds the wait for what an agent answers at once, however busy or far away
// its machine is.
const replyTimeout = 30 * time.Second

// Client is the controller's handle on one agent. Its methods may be called from
// several goroutines. Every wait ends with its context.
type Client struct {
	Hello wire.Hello
	place string
	conn  transport.Conn

	// writing holds a token while a request is written. It is not mu: who hands out replies
	// must not wait until an agent reads, which itself may wait until it is read from.
	writing chan struct{}

	mu        sync.Mutex
	next      uint64
	pending   map[uint64]chan wire.Reply
	err       error // set once the agent's stdout has ended
	watch     func(traffic.Progress)
	watchedID uint64 // the request whose progress is told
}

// Start launches an agent of a run and reads its hello. place is for people:
// host/sandbox.
func Start(ctx context.Context, l transport.Launcher, run, place string) (*Client, error) {
	conn, err := l.Launch(ctx, Arguments(run, place)...)
	if err != nil {
		return nil, fmt.Errorf("start agent in %s: %w", place, err)
	}
	c := &Client{place: place, conn: conn, writing: make(chan struct{}, 1), pending: map[uint64]chan wire.Reply{}}
	r := wire.NewReader(conn)
	hello := make(chan error, 1)
	go func() { hello <- r.Read(&c.Hello) }()
	wait := handshakeTimeout
	if slow, ok := l.(transport.SlowLauncher); ok {
		wait = slow.HandshakeTimeout()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("it said no hello within %s", wait))
	defer cancel()
	select {
	case err = <-hello:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	switch {
	case err != nil:
		return nil, errors.Join(fmt.Errorf("start agent in %s: %w%s", place, err, exitSuffix(conn)), c.Close())
	case c.Hello.Agent != wire.Version:
		return nil, errors.Join(fmt.Errorf("start agent in %s: it speaks protocol %d, this program %d", place, c.Hello.Agent, wire.Version), c.Close())
	}
	go c.read(r)
	return c, nil
}

// exitSuffix is how an agent ended, for the end of an error.
func exitSuffix(conn transport.Conn) string {
	// Its stdout ends a moment before its exit is known.
	for until := time.Now().Add(exitReasonTimeout); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if fate := conn.ExitReason(); fate != "" {
			return " (" + fate + ")"
		}
	}
	return ""
}

// read hands replies to those who wait, until the agent's stdout ends.
func (c *Client) read(r *wire.Reader) {
	var reply wire.Reply
	var err error
	for {
		reply = wire.Reply{}
		if err = r.Read(&reply); err != nil {
			break
		}
		if reply.Progress != nil {
			c.progress(reply)
			continue
		}
		c.mu.Lock()
		ch := c.pending[reply.ID]
		delete(c.pending, reply.ID)
		c.mu.Unlock()
		if ch != nil {
			ch <- reply
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		err = errors.New("it ended")
	}
	err = fmt.Errorf("agent in %s: %w%s", c.place, err, exitSuffix(c.conn))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	for id, ch := range c.pending {
		delete(c.pending, id)
		close(ch)
	}
}

func (c *Client) call(ctx context.Context, req wire.Request) (wire.Reply, error) {
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return wire.Reply{}, c.err
	}
	c.next++
	req.ID = c.next
	if req.Params != nil && req.Params.Progress > 0 {
		c.watchedID = req.ID
	}
	ch := make(chan wire.Reply, 1)
	c.pending[req.ID] = ch
	c.mu.Unlock()
	if err := c.write(ctx, req); err != nil {
		return wire.Reply{}, err
	}
	select {
	case reply, ok := <-ch:
		if !ok {
			return wire.Reply{}, c.Err()
		}
		if reply.Error != "" {
			return wire.Reply{}, fmt.Errorf("%s: %s", c.place, reply.Error)
		}
		return reply, nil
	case <-ctx.Done():
		return wire.Reply{}, fmt.Errorf("agent in %s did not answer %s: %w", c.place, req.Op, context.Cause(ctx))
	}
}

// write sends a request. One that an agent does not take ends with its context, and is
// given up when the agent is closed; no other request gets past it.
func (c *Client) write(ctx context.Context, req wire.Request) error {
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("agent in %s did not take %s: %w", c.place, req.Op, context.Cause(ctx))
	}
	written := make(chan error, 1)
	go func() {
		defer func() { <-c.writing }()
		written <- wire.Write(c.conn, req)
	}()
	select {
	case err := <-written:
		if err != nil {
			return fmt.Errorf("agent in %s: %w%s", c.place, err, exitSuffix(c.conn))
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("agent in %s did not take %s: %w", c.place, req.Op, context.Cause(ctx))
	}
}

// callWithTimeout calls for what is answered at once.
func (c *Client) callWithTimeout(ctx context.Context, req wire.Request) (wire.Reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, replyTimeout, fmt.Errorf("it did not within %s", replyTimeout))
	defer cancel()
	return c.call(ctx, req)
}

// Listen makes the agent the server of a trial and returns its port.
func (c *Client) Listen(ctx context.Context, p traffic.Params) (uint16, error) {
	reply, err := c.call(ctx, wire.Request{Op: wire.OpListen, Params: &p})
	return reply.Port, err
}

// Dial makes the agent the client of a trial and waits for its report.
func (c *Client) Dial(ctx context.Context, p traffic.Params) (traffic.Report, error) {
	return c.report(c.call(ctx, wire.Request{Op: wire.OpDial, Params: &p}))
}

// Open makes the agent the client of a trial that is driven in slices; p.Slice
// must be set. It returns when the agent is connected and warm.
func (c *Client) Open(ctx context.Context, p traffic.Params) error {
	_, err := c.call(ctx, wire.Request{Op: wire.OpDial, Params: &p})
	return err
}

// Slice drives the opened trial for d.
func (c *Client) Slice(ctx context.Context, d time.Duration) error {
	_, err := c.call(ctx, wire.Request{Op: wire.OpSlice, Slice: d})
	return err
}

// Report waits for the report of the trial that Listen or Open began, which for
// the latter ends it.
func (c *Client) Report(ctx context.Context) (traffic.Report, error) {
	return c.report(c.call(ctx, wire.Request{Op: wire.OpReport}))
}

func (c *Client) report(reply wire.Reply, err error) (traffic.Report, error) {
	if err != nil {
		return traffic.Report{}, err
	}
	if reply.Report == nil {
		return traffic.Report{}, fmt.Errorf("agent in %s answered without a report", c.place)
	}
	return *reply.Report, nil
}

// SendPeerReport tells the agent how the other end of its trial did.
func (c *Client) SendPeerReport(ctx context.Context, r traffic.Report) error {
	_, err := c.callWithTimeout(ctx, wire.Request{Op: wire.OpPeerReport, Report: &r})
	return err
}

// Abort makes the agent give up the trial under way.
func (c *Client) Abort(ctx context.Context) error {
	_, err := c.callWithTimeout(ctx, wire.Request{Op: wire.OpAbort})
	return err
}

// Links reads the devices of the agent's network namespace. With an address it
// also tells the local one from which that would be dialled.
func (c *Client) Links(ctx context.Context, to netip.Addr) ([]wire.Link, netip.Addr, error) {
	req := wire.Request{Op: wire.OpLinks}
	if to.IsValid() {
		req.Address = to.String()
	}
	reply, err := c.callWithTimeout(ctx, req)
	if err != nil || reply.From == "" {
		return reply.Links, netip.Addr{}, err
	}
	from, err := netip.ParseAddr(reply.From)
	return reply.Links, from, err
}

// Read reads the counters of the agent's network stack and the CPU times of its
// machine. It is not for while a trial is timed.
func (c *Client) Read(ctx context.Context) (netstack.Reading, error) {
	reply, err := c.callWithTimeout(ctx, wire.Request{Op: wire.OpRead})
	if err != nil {
		return netstack.Reading{}, fmt.Errorf("read counters: %w", err)
	}
	if reply.Reading == nil {
		return netstack.Reading{}, fmt.Errorf("read counters: agent in %s answered without a reading", c.place)
	}
	return *reply.Reading, nil
}

// Err tells why the agent is no longer there, nil while it is.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the agent, by force if it does not end by itself.
func (c *Client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return c.conn.Close(ctx)
}
