package traffic

import (
	"context"
	"time"
)

// tcpServer is the listening end of a TCP workload.
type tcpServer struct {
	listener *listener
	p        Params
	serve    func(context.Context, conns, Params) (Report, error)
}

func (s *tcpServer) Port() uint16 { return s.listener.port }

// Serve serves the opening transfer and then one a round, or the whole trial as
// one where there are no rounds.
func (s *tcpServer) Serve(ctx context.Context) (Report, error) {
	defer quiet()()
	defer s.listener.close()
	if s.p.Rounds == 0 {
		return s.once(ctx, s.p)
	}
	total, err := s.once(ctx, s.p.opening())
	total.Window = Window{} // the warm-up does not count
	for range s.p.Rounds {
		if err != nil {
			break
		}
		var r Report
		r, err = s.once(ctx, s.p.slice(s.p.Slice))
		total.add(r)
	}
	return total, err
}

func (s *tcpServer) once(ctx context.Context, p Params) (Report, error) {
	c, err := s.listener.admit(ctx, p)
	if err != nil {
		return Report{}, err
	}
	r, err := s.serve(ctx, c, p)
	r.Refused = s.listener.refused
	return r, err
}

// opening is the transfer that a sliced trial begins with, to warm up the path.
func (p Params) opening() Params {
	p.Duration = p.Warmup
	p.Warmup = 0
	return p
}

// slice is the transfer of one slice of length d.
func (p Params) slice(d time.Duration) Params {
	p.Warmup = d / SliceWarmup
	p.Duration = d - p.Warmup
	return p
}

// add puts the report of one more slice to those before it.
func (r *Report) add(s Report) {
	resent := s.Window.Retransmits
	if r.Window.Retransmits != nil && resent != nil {
		sum := *r.Window.Retransmits + *resent
		resent = &sum
	}
	s.Connections += r.Connections
	s.Sent += r.Sent
	s.Received += r.Received
	s.Messages += r.Messages
	s.Traffic += r.Traffic
	s.TCP.Wire += r.TCP.Wire
	s.TCP.Segments += r.TCP.Segments
	s.Window.Seconds += r.Window.Seconds
	s.Window.Received += r.Window.Received
	s.Window.Messages += r.Window.Messages
	s.Window.Retransmits = resent
	s.Window.Series = append(r.Window.Series, s.Window.Series...)
	*r = s
}
