package agent

import (
	"cmp"
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
	"tare/internal/printable"
	"tare/internal/program/agentfile"
	"tare/internal/timelimit"
	"tare/internal/traffic"
)

// HandshakeTimeout bounds how long a started agent may take to complete the handshake, unless its
// launcher is a transport.SlowLauncher.
func HandshakeTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }

// closeTimeout is how long an agent may take to exit after its stdin is closed.
func closeTimeout() time.Duration { return timelimit.Scaled(2 * time.Second) }

// exitReasonTimeout bounds the wait for the reason why an agent exited. For a process it is known
// at once; an engine has to be asked, and may itself be shutting down.
func exitReasonTimeout() time.Duration { return timelimit.Scaled(3 * time.Second) }

// replyTimeout bounds the wait for a reply to a request that an agent handles immediately, however
// busy or distant its machine is.
func replyTimeout() time.Duration { return timelimit.Scaled(30 * time.Second) }

// Client is the controller's handle on one agent. Its methods are safe for concurrent use. Every
// wait ends with its context.
type Client struct {
	Hello wire.Hello
	place string
	conn  transport.Conn

	// writing holds a token while a request is written. It is separate from mu, because the
	// goroutine that distributes replies must not wait for the agent to read: the agent itself may
	// be waiting for its replies to be read.
	writing chan struct{}

	mu        sync.Mutex
	next      uint64
	pending   map[uint64]chan wire.Reply
	err       error // set when the agent's stdout has ended
	watch     func(traffic.Progress)
	watchedID uint64 // the request whose progress is reported
}

// Start launches an agent of a run and waits for its handshake. place names it for people:
// host/sandbox.
func Start(ctx context.Context, l transport.Launcher, run, place string) (*Client, error) {
	conn, err := l.Launch(ctx, Arguments(run, place)...)
	if err != nil {
		return nil, fmt.Errorf("start agent in %s: %w", place, err)
	}
	c := &Client{place: place, conn: conn, writing: make(chan struct{}, 1), pending: map[uint64]chan wire.Reply{}}
	r := wire.NewReader(conn)
	handshake := make(chan error, 1)
	go func() { handshake <- r.Read(&c.Hello) }()
	wait := HandshakeTimeout()
	if slow, ok := l.(transport.SlowLauncher); ok {
		wait = slow.HandshakeTimeout()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("the handshake timed out after %s", wait))
	defer cancel()
	exit := exitReasonTimeout()
	select {
	case err = <-handshake:
	case <-ctx.Done():
		err, exit = context.Cause(ctx), 0 // it may well be running, and then has no exit to wait for
	}
	switch {
	case err != nil:
		return nil, errors.Join(fmt.Errorf("start agent in %s: %w%s", place, err, exitSuffix(conn, exit)), c.Close())
	case c.Hello.Agent != wire.Version:
		return nil, errors.Join(fmt.Errorf("start agent in %s: it uses protocol %d, this program uses %d; run the same version of tare on both sides", place, c.Hello.Agent, wire.Version), c.Close())
	}
	if err := sameBuild(c.Hello.ID, agentfile.ID()); err != nil {
		return nil, errors.Join(fmt.Errorf("start agent in %s: %w", place, err), c.Close())
	}
	go c.read(r)
	return c, nil
}

// sameBuild returns an error unless agent and controller were built from the same sources: with
// others, they might measure differently.
func sameBuild(agent, own string) error {
	if agent == own {
		return nil
	}
	const none = "none, as after a go build without make"
	return fmt.Errorf("the id of its build is %s, and that of this program is %s; use the same build on both sides",
		cmp.Or(clean(agent, maxFactName), none), cmp.Or(own, none))
}

// exitSuffix returns how an agent exited, in parentheses, to append to an error. It is empty if
// that is not known within the given time: stdout ends shortly before the exit is known.
func exitSuffix(conn transport.Conn, within time.Duration) string {
	for until := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		if reason := conn.ExitReason(); reason != "" {
			return " (" + reason + ")"
		}
		if !time.Now().Before(until) {
			return ""
		}
	}
}

// read passes replies to the waiting callers until the agent's stdout ends.
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
		err = errors.New("the agent exited")
	}
	err = fmt.Errorf("agent in %s: %w%s", c.place, err, exitSuffix(c.conn, exitReasonTimeout()))
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
			err := fmt.Errorf("%s: %s", c.place, printable.Prose(reply.Error)) // it may be hostile
			return reply, traffic.PlusAttempts(err, reply.Attempts)
		}
		return reply, nil
	case <-ctx.Done():
		return wire.Reply{}, fmt.Errorf("agent in %s did not answer %s: %w", c.place, req.Op, context.Cause(ctx))
	}
}

// write sends a request. If the agent does not read it, write returns when its context ends; the
// write itself is given up when the agent is closed. No later request can overtake it.
func (c *Client) write(ctx context.Context, req wire.Request) error {
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("agent in %s did not read %s: %w", c.place, req.Op, context.Cause(ctx))
	}
	written := make(chan error, 1)
	go func() {
		defer func() { <-c.writing }()
		written <- wire.Write(c.conn, req)
	}()
	select {
	case err := <-written:
		if err != nil {
			return fmt.Errorf("agent in %s: %w%s", c.place, err, exitSuffix(c.conn, exitReasonTimeout()))
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("agent in %s did not read %s: %w", c.place, req.Op, context.Cause(ctx))
	}
}

// callWithTimeout calls for a request that the agent handles immediately.
func (c *Client) callWithTimeout(ctx context.Context, req wire.Request) (wire.Reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, replyTimeout(), fmt.Errorf("timed out after %s", replyTimeout()))
	defer cancel()
	return c.call(ctx, req)
}

// Listen makes the agent the server of a trial and returns the port it listens on.
func (c *Client) Listen(ctx context.Context, p traffic.Params) (uint16, error) {
	p = limited(p)
	reply, err := c.call(ctx, wire.Request{Op: wire.OpListen, Params: &p})
	return reply.Port, err
}

// Dial makes the agent the client of a trial and waits for its report.
func (c *Client) Dial(ctx context.Context, p traffic.Params) (traffic.Report, error) {
	p = limited(p)
	return c.report(c.call(ctx, wire.Request{Op: wire.OpDial, Params: &p}))
}

// Open makes the agent the client of a trial that is run in slices; p.Slice must be set. It returns
// when the agent has connected and warmed up, with what the path then held, nil if that is unknown.
func (c *Client) Open(ctx context.Context, p traffic.Params) (*traffic.Held, error) {
	p = limited(p)
	reply, err := c.call(ctx, wire.Request{Op: wire.OpDial, Params: &p})
	return reply.Held, err
}

// Slice runs the opened trial for d. It returns what the path held at the end, nil if that is unknown.
func (c *Client) Slice(ctx context.Context, d time.Duration) (*traffic.Held, error) {
	reply, err := c.call(ctx, wire.Request{Op: wire.OpSlice, Slice: d})
	return reply.Held, err
}

// Report waits for the report of the trial that Listen or Open began. For a trial begun by Open it
// also ends the trial.
func (c *Client) Report(ctx context.Context) (traffic.Report, error) {
	return c.report(c.call(ctx, wire.Request{Op: wire.OpReport}))
}

func (c *Client) report(reply wire.Reply, err error) (traffic.Report, error) {
	if err != nil {
		return traffic.Report{}, err
	}
	if reply.Report == nil {
		return traffic.Report{}, fmt.Errorf("agent in %s replied without a report", c.place)
	}
	return *reply.Report, nil
}

// SendPeerReport passes the report of the other endpoint of the trial to the agent.
func (c *Client) SendPeerReport(ctx context.Context, r traffic.Report) error {
	_, err := c.callWithTimeout(ctx, wire.Request{Op: wire.OpPeerReport, Report: &r})
	return err
}

// Abort makes the agent cancel the current trial.
func (c *Client) Abort(ctx context.Context) error {
	_, err := c.callWithTimeout(ctx, wire.Request{Op: wire.OpAbort})
	return err
}

// Event tells the agent that the event of the trial that it dialled begins, or is over.
func (c *Client) Event(ctx context.Context, over bool) error {
	op := wire.OpEventBegin
	if over {
		op = wire.OpEventEnd
	}
	_, err := c.callWithTimeout(ctx, wire.Request{Op: op})
	return err
}

// Links reads the network devices of the agent's namespace. With an address, it also returns the
// local address from which that address would be dialled.
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

// Route returns the device by which packets to an address leave the agent's machine, empty if
// that is unknown, and the local address from which it would be dialled.
func (c *Client) Route(ctx context.Context, to netip.Addr) (device string, from netip.Addr, err error) {
	reply, err := c.callWithTimeout(ctx, wire.Request{Op: wire.OpLinks, Address: to.String()})
	if err != nil {
		return "", netip.Addr{}, err
	}
	from, err = netip.ParseAddr(reply.From)
	return reply.Out, from, err
}

// Read reads the counters of the agent's network stack and the CPU times of its machine. Do not
// call it while a trial is timed.
func (c *Client) Read(ctx context.Context) (netstack.Reading, error) {
	reply, err := c.callWithTimeout(ctx, wire.Request{Op: wire.OpRead})
	if err != nil {
		return netstack.Reading{}, fmt.Errorf("read counters: %w", err)
	}
	if reply.Reading == nil {
		return netstack.Reading{}, fmt.Errorf("read counters: agent in %s replied without a reading", c.place)
	}
	return *reply.Reading, nil
}

// Err returns why the agent has exited, nil while it runs.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the agent. It kills the agent if that does not exit in time.
func (c *Client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout())
	defer cancel()
	return c.conn.Close(ctx)
}
