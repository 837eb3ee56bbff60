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

// helloWait bounds how long a started agent may take to say hello.
const helloWait = 5 * time.Second

// closeWait is how long an agent may take to end by itself.
const closeWait = 2 * time.Second

// fateWait bounds how long it may take to learn how an agent ended. That of a process
// is known at once; an engine has to be asked, and may just be ending itself.
const fateWait = 3 * time.Second

// answerWait bounds the wait for what an agent answers at once, however busy or far away
// its machine is.
const answerWait = 30 * time.Second

// Client is the controller's handle on one agent. Its methods may be called from
// several goroutines. Every wait ends with its context.
type Client struct {
	Hello wire.Hello
	place string
	conn  transport.Conn

	// writing holds a token while a request is written. It is not mu: who hands out replies
	// must not wait until an agent reads, which itself may wait until it is read from.
	writing chan struct{}

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan wire.Reply
	gone    error // set once the agent's stdout has ended
	watch   func(traffic.Progress)
	watched uint64 // the request whose progress is told
}

// Start launches an agent of a run and reads its hello. place is for people:
// host/sandbox.
func Start(ctx context.Context, l transport.Launcher, run, place string) (*Client, error) {
	conn, err := l.Launch(ctx, Arguments(run, place)...)
	if err != nil {
		return nil, fmt.Errorf("start agent in %s: %w", place, err)
	}
	c := &Client{place: place, conn: conn, writing: make(chan struct{}, 1), waiting: map[uint64]chan wire.Reply{}}
	r := wire.NewReader(conn)
	hello := make(chan error, 1)
	go func() { hello <- r.Read(&c.Hello) }()
	wait := helloWait
	if slow, ok := l.(transport.Slow); ok {
		wait = slow.HelloWithin()
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
		return nil, errors.Join(fmt.Errorf("start agent in %s: %w%s", place, err, last(conn)), c.Close())
	case c.Hello.Agent != wire.Version:
		return nil, errors.Join(fmt.Errorf("start agent in %s: it speaks protocol %d, this program %d", place, c.Hello.Agent, wire.Version), c.Close())
	}
	go c.read(r)
	return c, nil
}

// last is how an agent ended, for the end of an error.
func last(conn transport.Conn) string {
	// Its stdout ends a moment before its exit is known.
	for until := time.Now().Add(fateWait); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if fate := conn.Fate(); fate != "" {
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
		ch := c.waiting[reply.ID]
		delete(c.waiting, reply.ID)
		c.mu.Unlock()
		if ch != nil {
			ch <- reply
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		err = errors.New("it ended")
	}
	err = fmt.Errorf("agent in %s: %w%s", c.place, err, last(c.conn))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = err
	for id, ch := range c.waiting {
		delete(c.waiting, id)
		close(ch)
	}
}

func (c *Client) call(ctx context.Context, req wire.Request) (wire.Reply, error) {
	c.mu.Lock()
	if c.gone != nil {
		defer c.mu.Unlock()
		return wire.Reply{}, c.gone
	}
	c.next++
	req.ID = c.next
	if req.Params != nil && req.Params.Progress > 0 {
		c.watched = req.ID
	}
	ch := make(chan wire.Reply, 1)
	c.waiting[req.ID] = ch
	c.mu.Unlock()
	if err := c.write(ctx, req); err != nil {
		return wire.Reply{}, err
	}
	select {
	case reply, ok := <-ch:
		if !ok {
			return wire.Reply{}, c.Gone()
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
			return fmt.Errorf("agent in %s: %w%s", c.place, err, last(c.conn))
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("agent in %s did not take %s: %w", c.place, req.Op, context.Cause(ctx))
	}
}

// ask calls for what is answered at once.
func (c *Client) ask(ctx context.Context, req wire.Request) (wire.Reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWait, fmt.Errorf("it did not within %s", answerWait))
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

// Ended tells the agent how the other end of its trial did.
func (c *Client) Ended(ctx context.Context, r traffic.Report) error {
	_, err := c.ask(ctx, wire.Request{Op: wire.OpEnded, Report: &r})
	return err
}

// Abort makes the agent give up the trial under way.
func (c *Client) Abort(ctx context.Context) error {
	_, err := c.ask(ctx, wire.Request{Op: wire.OpAbort})
	return err
}

// Links reads the devices of the agent's network namespace. With an address it
// also tells the local one from which that would be dialled.
func (c *Client) Links(ctx context.Context, to netip.Addr) ([]wire.Link, netip.Addr, error) {
	req := wire.Request{Op: wire.OpLinks}
	if to.IsValid() {
		req.Address = to.String()
	}
	reply, err := c.ask(ctx, req)
	if err != nil || reply.From == "" {
		return reply.Links, netip.Addr{}, err
	}
	from, err := netip.ParseAddr(reply.From)
	return reply.Links, from, err
}

// Read reads the counters of the agent's network stack and the CPU times of its
// machine. It is not for while a trial is timed.
func (c *Client) Read(ctx context.Context) (netstack.Reading, error) {
	reply, err := c.ask(ctx, wire.Request{Op: wire.OpRead})
	if err != nil {
		return netstack.Reading{}, fmt.Errorf("read counters: %w", err)
	}
	if reply.Reading == nil {
		return netstack.Reading{}, fmt.Errorf("read counters: agent in %s answered without a reading", c.place)
	}
	return *reply.Reading, nil
}

// Gone tells why the agent is no longer there, nil while it is.
func (c *Client) Gone() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// Close ends the agent, by force if it does not end by itself.
func (c *Client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	return c.conn.Close(ctx)
}
