package tcp

import (
	"context"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/thread"
)

// streamSession makes each slice a transfer of its own, over fresh connections:
// a connection tends to keep the speed it came to first, and a trial should not
// hang on the luck of one.
type streamSession struct {
	work    stream
	p       traffic.Params
	total   traffic.Report
	restore func()
}

func (w stream) Open(ctx context.Context, p traffic.Params) (traffic.Session, error) {
	if err := w.check(p); err != nil {
		return nil, err
	}
	s := &streamSession{work: w, p: p, restore: thread.PauseGC()}
	if err := s.drive(ctx, p.Opening()); err != nil {
		s.restore()
		return nil, err
	}
	s.total.Window = traffic.Window{} // the warm-up does not count
	return s, nil
}

func (s *streamSession) Slice(ctx context.Context, d time.Duration) error {
	return s.drive(ctx, s.p.OneSlice(d))
}

func (s *streamSession) drive(ctx context.Context, p traffic.Params) error {
	c, err := connect(ctx, s.work.path, p)
	if err != nil {
		return err
	}
	r, err := transfer(ctx, s.work.path, c, p, true)
	if err != nil {
		return err
	}
	s.total.AddSlice(r)
	return nil
}

func (s *streamSession) Close() traffic.Report {
	s.restore()
	s.total.Notes = s.work.notes(s.p, s.total)
	return s.total
}
