package split

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/agent/wire"
	"tare/internal/driver"
	"tare/internal/printable"
	"tare/internal/timelimit"
)

// The time limits of a half: to start, which over a slow connection takes seconds, to reply
// to a request that it handles at once, and to remove its mode and exit.
func startTimeout() time.Duration { return timelimit.Scaled(20 * time.Second) }
func replyTimeout() time.Duration { return timelimit.Scaled(30 * time.Second) }
func closeTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// half is the controller's handle on the process that builds one half. One request is under
// way at a time; its methods are safe for concurrent use.
type half struct {
	host Host
	side string
	run  string
	pid  int
	conn transport.Conn

	busy    chan struct{} // holds a token while a request is under way
	replies chan reply    // closed when the process's stdout has ended
	next    uint64

	mu  sync.Mutex
	err error // why stdout has ended
}

// start starts a half on its machine.
func start(ctx context.Context, h Host, side, run string) (*half, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout(), fmt.Errorf("timed out after %s", startTimeout()))
	defer cancel()
	fail := func(err error) (*half, error) {
		return nil, fmt.Errorf("start tare %s on host %s: %w", Command, h.Name, err)
	}
	conn, err := h.Machine.Root.Launch(ctx, append([]string{Command, "--run", run, "--at", side}, timelimit.Arguments()...)...)
	if err != nil {
		return fail(err)
	}
	f := &half{host: h, side: side, run: run, conn: conn, busy: make(chan struct{}, 1), replies: make(chan reply)}
	r := wire.NewReader(conn)
	var first hello
	got := make(chan error, 1)
	go func() { got <- r.Read(&first) }()
	select {
	case err = <-got:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err == nil && first.Version != version {
		err = fmt.Errorf("it uses protocol %d, this program uses %d; run the same version of tare on both sides", first.Version, version)
	}
	if err != nil {
		return fail(errors.Join(f.explain(err), f.end(nil)))
	}
	f.pid = first.PID
	go f.read(r)
	return f, nil
}

// explain replaces the end of the process's stdout by how the process exited, if that is
// known in time.
func (f *half) explain(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	for until := time.Now().Add(timelimit.Scaled(3 * time.Second)); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if reason := f.conn.ExitReason(); reason != "" {
			return fmt.Errorf("%w: %s", errEnded, printable.Prose(reason))
		}
	}
	return errEnded
}

// errEnded reports that the process has exited.
var errEnded = errors.New("it has ended")

// read passes replies on until the process's stdout ends.
func (f *half) read(r *wire.Reader) {
	for {
		var one reply
		if err := r.Read(&one); err != nil {
			err = f.explain(err)
			f.mu.Lock()
			f.err = err
			f.mu.Unlock()
			close(f.replies)
			return
		}
		f.replies <- one
	}
}

// Err returns why the process has ended, nil while it runs.
func (f *half) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// ask sends a request and waits for its reply, for at most replyTimeout.
func (f *half) ask(ctx context.Context, req request) (reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, replyTimeout(), fmt.Errorf("timed out after %s", replyTimeout()))
	defer cancel()
	return f.call(ctx, req, nil)
}

// call sends a request and waits for its reply. If the half waits for the other at a meeting
// meanwhile, meet is called, and then the half goes on.
func (f *half) call(ctx context.Context, req request, meet func(context.Context) error) (reply, error) {
	select {
	case f.busy <- struct{}{}:
		defer func() { <-f.busy }()
	case <-ctx.Done():
		return reply{}, f.unanswered(ctx, req.Op)
	}
	f.next++
	req.ID = f.next
	if err := f.send(ctx, req); err != nil {
		return reply{}, err
	}
	for {
		var got reply
		var running bool
		select {
		case got, running = <-f.replies:
		case <-ctx.Done():
			return reply{}, f.unanswered(ctx, req.Op)
		}
		switch {
		case !running:
			return reply{}, f.ended(req.Op)
		case got.ID != req.ID:
			continue // the reply to a request that was given up
		case got.Meet && meet != nil:
			if err := meet(ctx); err != nil {
				return reply{}, err
			}
			if err := f.send(ctx, request{ID: req.ID, Op: opGo}); err != nil {
				return reply{}, err
			}
			continue
		}
		return got, f.errorOf(got, req)
	}
}

// errorOf returns the error that a reply reports, nil if it reports none. The text comes
// from the other machine.
func (f *half) errorOf(got reply, req request) error {
	switch {
	case got.Unsupported != "":
		mode := ""
		if req.Order != nil {
			mode = req.Order.Mode
		}
		return &driver.Unsupported{Mode: mode, Reason: "host " + f.host.Name + ": " + printable.Prose(got.Unsupported)}
	case got.SlotTaken:
		return errSlotTaken
	case got.Error != "":
		return fmt.Errorf("host %s: %s", f.host.Name, printable.Prose(got.Error))
	}
	return nil
}

// errSlotTaken reports that a process on a machine took the address slot meanwhile.
var errSlotTaken = errors.New("the address slot is in use")

// send writes a request. The write is given up when the process is ended.
func (f *half) send(ctx context.Context, req request) error {
	written := make(chan error, 1)
	go func() { written <- wire.Write(f.conn, req) }()
	select {
	case err := <-written:
		if err != nil {
			return f.ended(req.Op)
		}
		return nil
	case <-ctx.Done():
		return f.unanswered(ctx, req.Op)
	}
}

func (f *half) unanswered(ctx context.Context, what op) error {
	return fmt.Errorf("host %s: tare %s did not answer %s: %w", f.host.Name, Command, what, context.Cause(ctx))
}

// ended returns the error that the process has exited.
func (f *half) ended(what op) error {
	err := f.Err()
	if err == nil {
		err = f.explain(io.EOF)
	}
	return fmt.Errorf("host %s: tare %s, which was asked to %s: %w", f.host.Name, Command, what, err)
}

// close removes the mode and ends the process. A process that has exited has taken its
// namespaces with it.
func (f *half) close(ctx context.Context) error {
	var err error
	if f.Err() == nil {
		if _, err = f.ask(ctx, request{Op: opClose}); errors.Is(err, errEnded) || f.Err() != nil {
			err = nil
		}
	}
	return errors.Join(err, f.end(f.replies))
}

// end ends the process, which removes its mode when its stdin ends. Its last replies, if they
// are read, are not needed.
func (f *half) end(replies <-chan reply) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout())
	defer cancel()
	if replies != nil {
		go func() {
			for range replies { //nolint:revive // see above
			}
		}()
	}
	return f.conn.Close(ctx)
}
