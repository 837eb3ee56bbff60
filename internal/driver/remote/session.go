package remote

import (
	"context"
	"errors"
	"sync"
)

// Session is the state on the hosts that all paths of one run share. It ends with the last
// path.
type Session struct {
	Run        string
	hosts      []*Host // nil until needed
	paths      int
	lastNumber int
}

// Host returns a host for which the session was entered.
func (s *Session) Host(i int) *Host { return s.hosts[i] }

// NextNumber returns a number, counted from 1, for names that must be unique among the
// paths of the run. Paths of a run are created one after the other.
func (s *Session) NextNumber() int {
	s.lastNumber++
	return s.lastNumber
}

// Sessions are the sessions of a driver, one for each run.
type Sessions struct {
	hosts int
	open  func(ctx context.Context, run string, host int) (*Host, error)
	end   func(ctx context.Context, run string) error
	mu    sync.Mutex
	runs  map[string]*Session
}

// NewSessions creates the sessions for a number of hosts. open starts reading a host; end
// removes what a run created on all hosts after its last path.
func NewSessions(hosts int, open func(ctx context.Context, run string, host int) (*Host, error), end func(ctx context.Context, run string) error) *Sessions {
	return &Sessions{hosts: hosts, open: open, end: end, runs: map[string]*Session{}}
}

// Enter begins a path of a run on the hosts with these numbers, and opens those that are
// not open or whose monitor has exited.
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
		if s.hosts[i] != nil && !s.hosts[i].lost() {
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

// Leave ends a path. The last one of a run ends the session.
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

// Exclusive calls do while no path begins or ends.
func (x *Sessions) Exclusive(do func() error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return do()
}

// CloseOnce returns a function that calls end the first time, and returns its error each time.
func CloseOnce(end func(context.Context) error) func(context.Context) error {
	var once sync.Once
	var err error
	return func(ctx context.Context) error {
		once.Do(func() { err = end(ctx) })
		return err
	}
}
