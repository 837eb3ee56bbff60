package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/driver/pathspec"
	"tare/internal/guest/mux"
	"tare/internal/linuxnet"
	"tare/internal/process"
	"tare/internal/timelimit"
)

// host is the guest seen from inside: its namespaces and processes.
type host struct {
	session *mux.Session
	control *mux.Stream
	write   sync.Mutex // serialises writes to control

	namespaces map[string]*linuxnet.NS // "" is the guest's own

	mu      sync.Mutex
	started map[uint16]*process.Process
}

func newHost(s *mux.Session) (*host, error) {
	own, err := linuxnet.OpenNS("guest", "/proc/self/ns/net")
	if err != nil {
		return nil, err
	}
	return &host{session: s, control: s.Open(mux.Control), namespaces: map[string]*linuxnet.NS{"": own}, started: map[uint16]*process.Process{}}, nil
}

func (h *host) send(r reply) {
	h.write.Lock()
	defer h.write.Unlock()
	_ = wire.Write(h.control, r) // if it fails, the end of the port follows
}

// serve answers requests until the port is closed.
func (h *host) serve() error {
	hello := self()
	h.send(reply{Hello: &hello})
	for in := wire.NewReader(h.control); ; {
		var req request
		err := in.Read(&req)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return h.session.Err()
		}
		if err != nil {
			return err
		}
		r, err := h.answer(req)
		if r.ID = req.ID; err != nil {
			r = reply{ID: req.ID, Error: err.Error()}
		}
		h.send(r)
	}
}

func (h *host) answer(req request) (r reply, err error) {
	ns, ok := h.namespaces[req.NS]
	if !ok {
		return r, fmt.Errorf("the guest has no sandbox %q", req.NS)
	}
	space, ctx := pathspec.NamespaceStack{NS: ns}, context.Background()
	switch req.Op {
	case opNet:
		if req.Net == nil {
			return r, errors.New("the request has no network")
		}
		err = h.network(*req.Net)
	case opStart:
		if req.Start == nil {
			return r, errors.New("the request has no process to start")
		}
		err = h.start(ns, *req.Start)
	case opKill:
		h.mu.Lock()
		defer h.mu.Unlock()
		if p := h.started[req.Stream]; p != nil {
			err = p.Cmd.Process.Kill() // its exit is reported when it has happened
		}
	case opLinks:
		r.Links, err = space.Links(ctx, req.Names)
	case opDescribe:
		if len(req.Names) != 1 {
			return r, errors.New("only one device can be described at a time")
		}
		r.Kind, r.Facts, err = space.Describe(ctx, req.Names[0])
	case opRead:
		reading, readErr := space.Read(ctx)
		r.Reading, err = &reading, readErr
	case opSurvey:
		stack, surveyErr := space.Survey(ctx)
		r.Stack, err = &stack, surveyErr
	case opTracked:
		t, tracks, trackErr := space.ReadTracked(ctx)
		if err = trackErr; tracks {
			r.Tracked = &t
		}
	case opCounts:
		r.Counts, err = ns.Rules().Counts(req.Table)
	case opFlushTracked:
		err = ns.Rules().FlushConntrack()
	default:
		err = fmt.Errorf("unknown request %q", req.Op)
	}
	return r, err
}

// killTimeout is how long the stdout of a process that has exited stays open for its children.
func killTimeout() time.Duration { return timelimit.Scaled(2 * time.Second) }

// start starts a process in a namespace, with a stream for its stdio.
func (h *host) start(ns *linuxnet.NS, s start) error {
	stream := h.session.Open(s.Stream)
	p := process.New(strings.Join(s.Args, " ")+" in the guest", s.Program)
	p.Cmd.Args, p.Cmd.Env, p.Cmd.WaitDelay, p.Cmd.Dir = s.Args, s.Env, killTimeout(), "/"
	p.Stdin, p.Cmd.Stdout = true, stream
	if s.Merged {
		p.Cmd.Stderr = stream
	}
	if err := p.Start(ns.Start); err != nil {
		return err
	}
	h.mu.Lock()
	h.started[s.Stream] = p
	h.mu.Unlock()
	go func() {
		_, _ = io.Copy(p, stream) // ends when either side closes
		p.CloseStdin()
	}()
	go func() {
		<-p.Done()
		h.mu.Lock()
		delete(h.started, s.Stream)
		h.mu.Unlock()
		e := ended{Stream: s.Stream, Code: p.Cmd.ProcessState.ExitCode(), ExitReason: p.State()}
		var exit *exec.ExitError
		if err := p.Err(); err != nil && !errors.As(err, &exit) && !errors.Is(err, os.ErrClosed) && !errors.Is(err, syscall.EPIPE) {
			e.ExitReason += ": " + err.Error()
		}
		if said := p.StderrTail(); said != "" {
			e.ExitReason += ": " + said
		}
		_ = stream.CloseWrite()
		h.send(reply{Ended: &e})
		_ = stream.Close()
	}()
	return nil
}
