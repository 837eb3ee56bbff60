package split

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"tare/internal/agent/wire"
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/printable"
	"tare/internal/runid"
)

// Serve builds halves of modes of a run, with the drivers, in the network in which it was
// started: it reads requests from in and writes replies to out until in ends. Then it
// removes what it has built.
func Serve(in io.Reader, out io.Writer, run, build string, drivers []labdriver.Driver) error {
	if !runid.IsID(run) {
		return fmt.Errorf("%q is not the id of a run", run)
	}
	machine, err := linuxnet.OpenNS("of the machine", "/proc/self/ns/net")
	if err != nil {
		return err
	}
	defer machine.Close()
	// On this machine nothing else may show that the run is alive.
	release, err := runid.Hold(run)
	if err != nil {
		return err
	}
	defer release()
	s := &server{run: run, machine: machine, out: out, drivers: drivers, calls: make(chan call, maxCalls)}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() { ended <- s.read(ctx, in, cancel) }()
	if err := wire.Write(out, hello{version, build, os.Getpid()}); err != nil {
		return err
	}
	s.serve()
	err = s.close(context.WithoutCancel(ctx))
	select {
	case failed := <-ended:
		return errors.Join(failed, err)
	default:
		return err
	}
}

// server is the process that builds one half.
type server struct {
	run     string
	machine *linuxnet.NS // that of the machine
	out     io.Writer
	drivers []labdriver.Driver
	calls   chan call

	made *made // nil while nothing is built
}

// made is a mode that is built.
type made struct {
	path  *driver.Path
	claim lab.Claim
}

// call is a request. Its context is done when the controller has given it up, or has ended.
type call struct {
	request
	ctx    context.Context //nolint:containedctx // it is passed on with the request
	giveUp context.CancelCauseFunc
	met    chan struct{} // has an element when the other half has come to the meeting
}

// maxCalls is how many requests may wait. The controller has one under way, and the others are those that it gave up.
const maxCalls = 100

// errStdin is the cause of the end of everything.
var errStdin = errors.New("the controller has ended")

// errGivenUp is the cause of the end of one request.
var errGivenUp = errors.New("the controller gave the request up")

// read passes requests on until the end of in. It never waits for one to be handled, so that what the controller gives up, and its
// end, stop what is under way.
func (s *server) read(ctx context.Context, in io.Reader, cancel context.CancelCauseFunc) error {
	defer close(s.calls)
	defer cancel(errStdin)
	last := call{giveUp: func(error) {}}
	for r := wire.NewReader(in); ; {
		var req request
		err := r.Read(&req)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		if req.Op == opGo {
			if req.ID == last.ID && len(last.met) == 0 {
				last.met <- struct{}{}
			}
			continue
		}
		last.giveUp(errGivenUp) // the controller has one request under way
		last = call{request: req, met: make(chan struct{}, 1)}
		last.ctx, last.giveUp = context.WithCancelCause(ctx)
		select {
		case s.calls <- last:
		default:
			return fmt.Errorf("more than %d requests wait", maxCalls)
		}
	}
}

// serve handles requests one after the other until the end of stdin.
func (s *server) serve() {
	for c := range s.calls {
		got := s.handle(c)
		got.ID = c.ID
		// If it cannot be sent, the controller has ended, and stdin ends next.
		_ = wire.Write(s.out, got)
	}
}

// handle executes a request.
func (s *server) handle(c call) reply {
	ctx, req := c.ctx, c.request
	switch {
	case req.Op == opClose:
		return errorReply(s.close(context.WithoutCancel(ctx)))
	case ctx.Err() != nil:
		return errorReply(context.Cause(ctx))
	case req.Op == opLink:
		return s.link(req)
	case req.Op == opBuild:
		return s.build(c)
	case s.made == nil:
		return errorReply(errors.New("no mode is built"))
	}
	p := s.made.path
	switch req.Op {
	case opSnapshot:
		c, err := p.Snapshot(ctx)
		return or(reply{Counters: c}, err)
	case opTopology:
		t, err := p.Topology()
		return or(reply{Topology: &t}, err)
	case opFlush:
		return errorReply(p.FlushConnections(ctx))
	case opCheck:
		return errorReply(check(p))
	case opRead, opSurvey, opTracked:
		return readStack(ctx, p, req)
	case opLink, opBuild, opClose, opGo: // above
	}
	return errorReply(fmt.Errorf("unknown request %q", req.Op))
}

// check evaluates the conditions of a path beyond its rules.
func check(p *driver.Path) error {
	for _, c := range p.Checks {
		if err := c(); err != nil {
			return err
		}
	}
	return nil
}

// readStack reads something of a network stack.
func readStack(ctx context.Context, p *driver.Path, req request) reply {
	for _, n := range p.Stacks {
		if n.Name != req.Stack {
			continue
		}
		switch {
		case req.Op == opRead && n.Read != nil:
			r, err := n.Read(ctx)
			return or(reply{Reading: &r}, err)
		case req.Op == opSurvey && n.Survey != nil:
			settings, err := n.Survey(ctx)
			return or(reply{Settings: &settings}, err)
		case req.Op == opTracked && n.ReadTracked != nil:
			t, tracks, err := n.ReadTracked(ctx)
			if !tracks {
				return errorReply(err)
			}
			return or(reply{Tracked: &t}, err)
		}
	}
	return errorReply(fmt.Errorf("no network stack %q supports %s", req.Stack, req.Op))
}

// or returns a reply, or the error.
func or(r reply, err error) reply {
	if err != nil {
		return errorReply(err)
	}
	return r
}

// errorReply returns the reply that a request failed, or nothing but that it succeeded.
func errorReply(err error) reply {
	var link *lab.LinkError
	u, unsupported := driver.AsUnsupported(err)
	switch {
	case err == nil:
		return reply{}
	case unsupported:
		return reply{Unsupported: u.Reason}
	case errors.As(err, &link):
		return reply{Unsupported: link.Reason}
	case errors.Is(err, lab.ErrSlotTaken):
		return reply{SlotTaken: true}
	}
	return reply{Error: printable.Prose(err.Error())}
}

// link finds the device that leads to the other machine.
func (s *server) link(req request) reply {
	slots, err := lab.FreeSlots()
	if err != nil {
		return errorReply(err)
	}
	l := link{IPv6: lab.SupportsIPv6(), Slots: slots}
	if !req.To.IsValid() {
		return reply{Link: &l}
	}
	t, err := s.machine.Routes().Toward(req.To)
	if err != nil {
		return errorReply(err)
	}
	l.Device, l.Kind, l.MTU, l.Gateway, l.Local = t.Device, t.Kind, t.MTU, t.Gateway, t.Local
	if t.MAC != nil {
		l.MAC = t.MAC.String()
	}
	return reply{Link: &l}
}

// close removes what is built.
func (s *server) close(ctx context.Context) error {
	if s.made == nil {
		return nil
	}
	m := s.made
	s.made = nil
	err := m.path.Close(ctx)
	m.claim.Release()
	return err
}
