package traffic

import (
	"context"
	"time"
)

// streamSession makes each slice a transfer of its own, over fresh connections:
// a connection tends to keep the speed it came to first, and a trial should not
// hang on the luck of one.
type streamSession struct {
	work    tcpStream
	p       Params
	total   Report
	restore func()
}

func (w tcpStream) Open(ctx context.Context, p Params) (Session, error) {
	if err := w.check(p); err != nil {
		return nil, err
	}
	s := &streamSession{work: w, p: p, restore: quiet()}
	if err := s.drive(ctx, p.opening()); err != nil {
		s.restore()
		return nil, err
	}
	s.total.Window = Window{} // the warm-up does not count
	return s, nil
}

func (s *streamSession) Slice(ctx context.Context, d time.Duration) error {
	return s.drive(ctx, s.p.slice(d))
}

func (s *streamSession) drive(ctx context.Context, p Params) error {
	c, err := connect(ctx, s.work.path, p)
	if err != nil {
		return err
	}
	r, err := transfer(ctx, s.work.path, c, p, true)
	if err != nil {
		return err
	}
	s.total.add(r)
	return nil
}

func (s *streamSession) Close() Report {
	s.restore()
	s.total.Notes = s.work.notes(s.p, s.total)
	return s.total
}
