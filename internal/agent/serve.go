// Package agent is the process in a sandbox and the controller's handle on it. An agent receives
// requests on its stdin and replies on its stdout. It opens no control port and exits when its
// stdin ends.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/agent/wire"
	"tare/internal/program/agentfile"
	"tare/internal/timelimit"
	"tare/internal/tool"
	"tare/internal/traffic"
	"tare/internal/traffic/clock"
)

// Command is the hidden command that starts an agent.
const Command = transport.AgentCommand

// Arguments returns the command line of an agent of one run. The id and the place are there for
// people and for `tare gc`, which read them in /proc.
func Arguments(run, place string) []string {
	return append([]string{Command, "--run", run, "--at", place}, timelimit.Arguments()...)
}

// trialGrace is how much longer than its warm-up and timed window a trial may take: set-up, drain
// and scheduling delays.
func trialGrace() time.Duration { return timelimit.Scaled(10 * time.Second) }

// limited gives a trial its limit, unless it has one. The controller does so, too: an agent in a container does not know how slow the machine
// was said to be.
func limited(p traffic.Params) traffic.Params {
	if p.Limit <= 0 {
		p.Limit = p.Warmup + p.Duration + trialGrace()
	}
	return p
}

// minProcs keeps the Go scheduler running while threads are in raw system calls, each of which
// occupies one of its processors.
const minProcs = 6

// gcPercent makes the collector start at a heap of 1 MB instead of 4 MB. It costs nothing in trials,
// which run without a collector.
const gcPercent = 25

// Serve runs an agent: it reads requests from in and writes replies to out until in ends. It
// returns nil at the end of in.
func Serve(ctx context.Context, in io.Reader, out io.Writer, build string) error {
	runtime.GOMAXPROCS(max(minProcs, runtime.NumCPU()))
	debug.SetGCPercent(gcPercent)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{started: clock.Now(), out: out, probeListeners: map[string]awaited{}, pathListeners: map[string]awaited{}, lapses: map[string]awaited{}}
	defer s.cpu.close()
	if err := s.send(wire.Hello{Agent: wire.Version, Build: build, ID: agentfile.ID(), PID: os.Getpid()}); err != nil {
		return err
	}
	for r := wire.NewReader(in); ; {
		var req wire.Request
		err := r.Read(&req)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		s.handle(ctx, req)
	}
}

// cancelledText is the cause of a trial that the controller has cancelled, as it does when the other
// endpoint has failed.
const cancelledText = "the controller cancelled the trial"

type server struct {
	started        clock.Instant
	mu             sync.Mutex // guards out
	out            io.Writer
	cancel         context.CancelCauseFunc // of the current trial
	report         chan wire.Reply         // of the current served trial
	peer           chan traffic.Report     // passes the report of the other endpoint to the current trial
	event          *traffic.EventClock     // of the current dialled trial, if that has an event
	session        chan *openTrial         // of the current sliced trial; holds it between slices
	probeListeners map[string]awaited      // by token
	pathListeners  map[string]awaited      // by token
	lapses         map[string]awaited      // by token
	cpu            cpuReader
}

func (s *server) send(v any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return wire.Write(s.out, v)
}

// handle starts the requested operation. Only the reading loop calls it, so cancel and report need
// no lock. It ignores errors of replies: if one cannot be sent, the controller has exited and stdin
// ends next.
func (s *server) handle(ctx context.Context, req wire.Request) {
	reply := wire.Reply{ID: req.ID}
	switch req.Op {
	case wire.OpListen, wire.OpDial:
		if req.Params == nil {
			reply.Error = "the request has no trial parameters"
			break
		}
		s.trial(ctx, req)
		return
	case wire.OpSlice:
		if s.session == nil {
			reply.Error = "no trial is open"
			break
		}
		go s.slice(s.session, req)
		return
	case wire.OpReport:
		if s.session != nil {
			go s.close(s.session, req.ID)
			s.session = nil
			return
		}
		if s.report == nil {
			reply.Error = "no trial is being served"
			break
		}
		go s.forward(s.report, req.ID)
		s.report = nil
		return
	case wire.OpPeerReport:
		if s.peer == nil || req.Report == nil {
			reply.Error = "no trial is under way that takes a report"
			break
		}
		s.peer <- *req.Report // has capacity for it
		s.peer = nil
	case wire.OpAbort:
		if s.cancel != nil {
			s.cancel(errors.New(cancelledText))
		}
		s.discard()
	case wire.OpEventBegin, wire.OpEventEnd:
		switch {
		case s.event == nil:
			reply.Error = "no trial with an event is under way"
		case req.Op == wire.OpEventBegin:
			s.event.Begin()
		default:
			s.event.End()
		}
	case wire.OpRead:
		reading := readStack("/proc")
		reply.Reading = &reading
	case wire.OpCPU:
		reply = s.cpu.read(req.ID, s.started)
	case wire.OpLinks:
		reply = links(req)
	case wire.OpClock:
		now := time.Now()
		reply.Time = &now
	case wire.OpCongestions:
		reply = congestions(req)
	case wire.OpProxyMode:
		go func() { _ = s.send(proxyMode(ctx, req)) }()
		return
	case wire.OpMachine:
		go func() { _ = s.send(describeMachine(req)) }()
		return
	case wire.OpPathSend:
		go func() { _ = s.send(sendPathProbe(ctx, req)) }()
		return
	case wire.OpPathListen:
		reply = s.listenForPathProbe(ctx, req)
	case wire.OpPathResult:
		if s.ended(s.pathListeners, pathTokenOf(req), req.ID) {
			return
		}
		reply.Error = "no listener for a path probe has this token"
	case wire.OpProbeListen:
		reply = s.listenForProbes(ctx, req)
	case wire.OpProbeResult:
		if s.ended(s.probeListeners, tokenOf(req), req.ID) {
			return
		}
		reply.Error = "no probe listener has this token"
	case wire.OpProbe:
		go func() { _ = s.send(probe(ctx, req)) }()
		return
	case wire.OpSeek:
		go func() { _ = s.send(search(ctx, req, "no answer from %s within %s", sought)) }()
		return
	case wire.OpLapse:
		s.lapse(ctx, req)
		return
	case wire.OpLapsed:
		if s.ended(s.lapses, tokenOf(req), req.ID) {
			return
		}
		reply.Error = "no search has this token"
	default:
		reply.Error = fmt.Sprintf("unknown request %q", req.Op)
	}
	_ = s.send(reply)
}

// ended ends what has the token, and sends its reply to a request; false if nothing has it.
func (s *server) ended(of map[string]awaited, token string, id uint64) bool {
	a, ok := of[token]
	if ok {
		delete(of, token)
		a.stop()
		go s.forward(a.reply, id)
	}
	return ok
}

// forward sends the reply that comes from a channel, to a request.
func (s *server) forward(from <-chan wire.Reply, id uint64) {
	r := <-from
	r.ID = id
	_ = s.send(r)
}

func (s *server) trial(ctx context.Context, req wire.Request) {
	p := *req.Params
	limit := limited(p).Limit
	if s.cancel != nil {
		s.cancel(errors.New("another trial began"))
	}
	s.discard()
	ctx, stop := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the trial did not end within %s", limit))
	ctx, s.cancel = context.WithCancelCause(ctx)
	fail := func(err error) {
		stop()
		_ = s.send(wire.Reply{ID: req.ID, Error: err.Error()})
	}
	peer := make(chan traffic.Report, 1)
	s.peer = peer
	work, err := tool.For(p)
	if err == nil {
		err = p.Threading().Check()
	}
	if err != nil {
		fail(err)
		return
	}
	s.sendProgress(ctx, req.ID, &p)
	if s.event = nil; req.Op == wire.OpDial && p.Event != "" {
		s.event = traffic.NewEventClock()
		p.EventClock = s.event
	}
	if req.Op == wire.OpDial && p.Slice > 0 {
		s.open(ctx, stop, req.ID, work, p)
		return
	}
	if req.Op == wire.OpDial {
		go func() {
			defer stop()
			_ = s.send(outcome(req.ID)(work.Dial(ctx, p, peer)))
		}()
		return
	}
	srv, err := work.Listen(p)
	if err != nil {
		fail(err)
		return
	}
	report := make(chan wire.Reply, 1)
	s.report = report
	go func() {
		defer stop()
		report <- outcome(0)(srv.Serve(ctx, peer))
	}()
	_ = s.send(wire.Reply{ID: req.ID, Port: srv.Port()})
}

// openTrial is the client's part of a trial that is run in slices.
type openTrial struct {
	ctx     context.Context //nolint:containedctx // of the trial, which outlives each request
	stop    context.CancelFunc
	session traffic.Session
}

// open connects and warms up, and replies when the first slice can start. The channel holds the
// session whenever no request uses it.
func (s *server) open(ctx context.Context, stop context.CancelFunc, id uint64, work traffic.Workload, p traffic.Params) {
	sessions := make(chan *openTrial, 1)
	s.session = sessions
	go func() {
		reply := wire.Reply{ID: id}
		sliced, ok := work.(traffic.Sliced)
		if !ok {
			reply.Error = p.Kind + " cannot be run in slices"
		} else if session, err := sliced.Open(ctx, p); err != nil {
			reply = failedTrial(id, err)
		} else {
			reply.Held = heldBy(session)
			sessions <- &openTrial{ctx, stop, session}
		}
		if reply.Error != "" {
			stop()
			close(sessions)
		}
		_ = s.send(reply)
	}()
}

// discard closes the session of a trial that failed, for whose report nobody asks.
func (s *server) discard() {
	sessions := s.session
	if sessions == nil {
		return
	}
	s.session = nil
	go func() {
		if o, ok := <-sessions; ok {
			o.session.Close()
			o.stop()
		}
	}()
}

func (s *server) slice(sessions chan *openTrial, req wire.Request) {
	reply := wire.Reply{ID: req.ID}
	if o, ok := <-sessions; !ok {
		reply.Error = "the trial could not be opened"
	} else {
		if err := o.session.Slice(o.ctx, req.Slice); err != nil {
			reply = failedTrial(req.ID, err)
		}
		reply.Held = heldBy(o.session)
		sessions <- o
	}
	_ = s.send(reply)
}

// heldBy is what the path of a session holds, nil if that is unknown.
func heldBy(s traffic.Session) *traffic.Held {
	if h, ok := s.(traffic.Holding); ok {
		return h.Held()
	}
	return nil
}

func (s *server) close(sessions chan *openTrial, id uint64) {
	reply := wire.Reply{ID: id}
	if o, ok := <-sessions; !ok {
		reply.Error = "the trial could not be opened"
	} else {
		report := o.session.Close()
		o.stop()
		reply.Report = &report
	}
	_ = s.send(reply)
}

func outcome(id uint64) func(traffic.Report, error) wire.Reply {
	return func(r traffic.Report, err error) wire.Reply {
		if err != nil {
			return failedTrial(id, err)
		}
		return wire.Reply{ID: id, Report: &r}
	}
}

// failedTrial is the reply about a trial that failed.
func failedTrial(id uint64, err error) wire.Reply {
	return wire.Reply{ID: id, Error: err.Error(), Attempts: traffic.AttemptsOf(err)}
}
