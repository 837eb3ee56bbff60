package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/agent/wire"
	"tare/internal/guest/mux"
	"tare/internal/printable"
	"tare/internal/timelimit"
)

// remote is the host's connection to the guest's first process.
type remote struct {
	place   string
	session *mux.Session
	control *mux.Stream
	hello   chan Hello // receives once

	mu        sync.Mutex
	next      uint64
	streams   uint16
	waiting   map[uint64]chan reply
	processes map[uint16]*task
	gone      error
}

func newRemote(s *mux.Session, place string) *remote {
	r := &remote{place: place, session: s, control: s.Open(mux.Control), hello: make(chan Hello, 1),
		waiting: map[uint64]chan reply{}, processes: map[uint16]*task{}}
	go r.read()
	return r
}

func (r *remote) read() {
	for in := wire.NewReader(r.control); ; {
		var got reply
		if err := in.Read(&got); err != nil {
			<-r.session.Done()
			if err := r.session.Err(); err != nil {
				r.end(fmt.Errorf("invalid data from the guest: %w", err))
			}
			return // otherwise the machine has ended, and whoever waits for it knows how
		}
		switch {
		case got.Hello != nil:
			select {
			case r.hello <- *got.Hello:
			default: // the error is already set
			}
		case got.Ended != nil:
			r.mu.Lock()
			p := r.processes[got.Ended.Stream]
			delete(r.processes, got.Ended.Stream)
			r.mu.Unlock()
			if p != nil {
				p.finish(got.Ended.Code, got.Ended.ExitReason)
			}
		default:
			r.mu.Lock()
			ch := r.waiting[got.ID]
			delete(r.waiting, got.ID)
			r.mu.Unlock()
			if ch != nil {
				ch <- got
			}
		}
	}
}

// end passes the guest's end to all who wait. The first error counts, except for the exit reasons
// of processes that still run, for which that of the machine is more useful.
func (r *remote) end(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone == nil {
		r.gone = fmt.Errorf("%s: %w", r.place, why)
	}
	for id, ch := range r.waiting {
		delete(r.waiting, id)
		close(ch)
	}
	for id, p := range r.processes {
		delete(r.processes, id)
		p.finish(-1, why.Error())
	}
}

// replyTimeout bounds the wait for operations that the guest performs immediately.
func replyTimeout() time.Duration { return timelimit.Scaled(30 * time.Second) }

func (r *remote) call(ctx context.Context, req request) (reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, replyTimeout(), fmt.Errorf("no answer within %s", replyTimeout()))
	defer cancel()
	r.mu.Lock()
	if r.gone != nil {
		defer r.mu.Unlock()
		return reply{}, r.gone
	}
	r.next++
	req.ID = r.next
	ch := make(chan reply, 1)
	r.waiting[req.ID] = ch
	err := wire.Write(r.control, req)
	r.mu.Unlock()
	if err != nil {
		return reply{}, fmt.Errorf("%s: %w", r.place, err)
	}
	select {
	case got, ok := <-ch:
		switch {
		case !ok:
			r.mu.Lock()
			defer r.mu.Unlock()
			return got, r.gone
		case got.Error != "":
			return got, fmt.Errorf("%s: %s", r.place, printable.Prose(got.Error)) // it may be hostile
		}
		return got, nil
	case <-ctx.Done():
		return reply{}, fmt.Errorf("%s failed to %s: %w", r.place, req.Op, context.Cause(ctx))
	}
}

// task is a process started in the guest.
type task struct {
	remote *remote
	id     uint16
	*mux.Stream
	ended      chan struct{}
	once       sync.Once
	code       int
	exitReason string
}

func (p *task) finish(code int, reason string) {
	p.once.Do(func() {
		p.code, p.exitReason = code, reason
		close(p.ended)
	})
}

// run starts a process in a namespace of the guest.
func (r *remote) run(ctx context.Context, ns string, s start) (*task, error) {
	r.mu.Lock()
	for r.streams++; r.streams == mux.Control || r.processes[r.streams] != nil; {
		r.streams++
	}
	s.Stream = r.streams
	p := &task{remote: r, id: s.Stream, Stream: r.session.Open(s.Stream), ended: make(chan struct{})}
	r.processes[p.id] = p
	r.mu.Unlock()
	if _, err := r.call(ctx, request{Op: opStart, NS: ns, Start: &s}); err != nil {
		r.mu.Lock()
		delete(r.processes, p.id)
		r.mu.Unlock()
		p.finish(-1, err.Error())
		return nil, errors.Join(err, p.Stream.Close())
	}
	return p, nil
}

// Close ends the process by closing its stdin, and kills it when ctx is done.
func (p *task) Close(ctx context.Context) error {
	select {
	case <-p.ended:
		return p.Stream.Close()
	default:
	}
	_ = p.CloseWrite() // the process ended with the guest
	select {
	case <-p.ended:
		return p.Stream.Close()
	case <-ctx.Done():
	}
	// If the guest is too busy to react, the process ends with its machine soon after.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timelimit.Scaled(time.Second))
	defer cancel()
	_, _ = p.remote.call(ctx, request{Op: opKill, Stream: p.id})
	return p.Stream.Close()
}

// ExitReason returns how it exited, "" while it runs.
func (p *task) ExitReason() string {
	select {
	case <-p.ended:
		return p.exitReason
	default:
		return ""
	}
}

// launcher starts this program in a namespace of a guest.
type launcher struct {
	m  *Machine
	ns string
}

// In returns a launcher of agents in a sandbox of the guest, or with "" in the guest's own network.
func (m *Machine) In(ns string) transport.Launcher { return launcher{m, ns} }

// Launch starts the program with args, without the program's name.
func (l launcher) Launch(ctx context.Context, args ...string) (transport.Conn, error) {
	program := Program
	if len(args) > 0 && args[0] == transport.AgentCommand {
		program = agentProgram
	}
	return l.m.remote.run(ctx, l.ns, start{Program: program, Args: append([]string{"tare"}, args...), Env: environment()})
}

// agentHandshakeTimeout bounds how long the handshake of an agent may take in a guest with an
// emulated CPU on a busy machine.
func agentHandshakeTimeout() time.Duration { return timelimit.Scaled(30 * time.Second) }

// HandshakeTimeout returns how long the handshake of an agent may take.
func (launcher) HandshakeTimeout() time.Duration { return agentHandshakeTimeout() }

// environment is the environment of the guest's processes: see transport.Local for the reason of
// GODEBUG.
func environment() []string {
	return []string{"PATH=/bin:/sbin:/usr/bin:/usr/sbin", "HOME=/root", "TMPDIR=/tmp", "LC_ALL=C", transport.Environment}
}

// Configure sets up the guest's network.
func (m *Machine) Configure(ctx context.Context, n Net) error {
	_, err := m.remote.call(ctx, request{Op: opNet, Net: &n})
	return err
}

// Exec runs a program of the guest's file system, writes its stdout and stderr to out, and returns
// its exit code. It is killed when ctx ends.
func (m *Machine) Exec(ctx context.Context, out io.Writer, args []string, env ...string) (int, error) {
	p, err := m.remote.run(ctx, "", start{Program: args[0], Args: args, Env: append(environment(), env...), Merged: true})
	if err != nil {
		return -1, err
	}
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(out, p.Stream)
		copied <- err
	}()
	select {
	case <-p.ended:
		return p.code, errors.Join(<-copied, p.Close(ctx))
	case <-ctx.Done():
		return -1, errors.Join(context.Cause(ctx), p.Close(ctx))
	}
}
