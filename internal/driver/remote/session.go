package remote

import (
	"context"
	"errors"
	"sync"
)

// Session is what all paths of one run share on the hosts. It ends with the last path.
type Session struct {
	Run   string
	hosts []*Host // nil until needed
	paths int
	named int
}

// Host is one of those that the session was entered for.
func (s *Session) Host(i int) *Host { return s.hosts[i] }

// NextNumber counts from 1 what needs a name that no other path of the run has. Paths of a
// run are made one after the other.
func (s *Session) NextNumber() int {
	s.named++
	return s.named
}

// Sessions are those of a driver, one a run.
type Sessions struct {
	hosts int
	open  func(ctx context.Context, run string, host int) (*Host, error)
	end   func(ctx context.Context, run string) error
	mu    sync.Mutex
	runs  map[string]*Session
}

// NewSessions keeps sessions on so many hosts. open starts to read one, and end removes
// what a run has made on all of them once nothing reads them any more.
func NewSessions(hosts int, open func(ctx context.Context, run string, host int) (*Host, error), end func(ctx context.Context, run string) error) *Sessions {
	return &Sessions{hosts: hosts, open: open, end: end, runs: map[string]*Session{}}
}

// Enter begins a path of a run on the hosts with those numbers, and opens those that are
// not open, or not any more.
func (x *Sessions) Enter(ctx context.Context, run string, hosts ...int) (*Session, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.runs[run]
	if s == nil {
		s = &Session{Run: run, hosts: make([]*Host, x.hosts)}
		x.runs[run] = s
	}
	s.paths++
	for _, i := range hosts {
		if s.hosts[i] != nil && s.hosts[i].Monitor.Err() == nil {
			continue
		}
		h, err := x.open(ctx, run, i)
		if err != nil {
			return nil, errors.Join(err, x.leave(context.WithoutCancel(ctx), s))
		}
		s.hosts[i] = h
	}
	return s, nil
}

// Leave ends a path. With the last one of a run everything of the run goes.
func (x *Sessions) Leave(ctx context.Context, s *Session) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.leave(ctx, s)
}

func (x *Sessions) leave(ctx context.Context, s *Session) error {
	if s.paths--; s.paths > 0 {
		return nil
	}
	delete(x.runs, s.Run)
	var errs []error
	for _, h := range s.hosts {
		if h != nil {
			errs = append(errs, h.Close())
		}
	}
	return errors.Join(append(errs, x.end(ctx, s.Run))...)
}

// Exclusive does something while no path is begun or ended.
func (x *Sessions) Exclusive(do func() error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return do()
}
