package tcp

import (
	"context"

	"tare/internal/traffic"
	"tare/internal/traffic/thread"
)

// server is the listening end of a TCP workload.
type server struct {
	listener *admitter
	p        traffic.Params
	serve    func(context.Context, conns, traffic.Params) (traffic.Report, error)
}

// listen opens the port of a TCP workload.
func listen(n path, p traffic.Params, serve func(context.Context, conns, traffic.Params) (traffic.Report, error)) (traffic.Server, error) {
	a, err := n.net.ListenTCP(p.Address, optionsOf(p))
	if err != nil {
		return nil, err
	}
	return &server{listener: &admitter{Listener: a}, p: p, serve: serve}, nil
}

func (s *server) Port() uint16 { return s.listener.Port() }

// Serve serves the opening transfer and then one a round, or the whole trial as
// one where there are no rounds.
func (s *server) Serve(ctx context.Context, _ traffic.Peer) (traffic.Report, error) {
	defer thread.PauseGC()()
	defer s.listener.Close()
	if s.p.Rounds == 0 {
		return s.once(ctx, s.p)
	}
	total, err := s.once(ctx, s.p.Opening())
	total.Window = traffic.Window{} // the warm-up does not count
	for range s.p.Rounds {
		if err != nil {
			break
		}
		var r traffic.Report
		r, err = s.once(ctx, s.p.OneSlice(s.p.Slice))
		total.AddSlice(r)
	}
	return total, err
}

func (s *server) once(ctx context.Context, p traffic.Params) (traffic.Report, error) {
	c, err := s.listener.admit(ctx, p)
	if err != nil {
		return traffic.Report{}, err
	}
	r, err := s.serve(ctx, c, p)
	r.Refused = s.listener.refused
	return r, err
}
