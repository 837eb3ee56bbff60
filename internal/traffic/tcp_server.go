package traffic

import (
	"context"
)

// tcpServer is the listening end of a TCP workload.
type tcpServer struct {
	listener *listener
	p        Params
	serve    func(context.Context, conns, Params) (Report, error)
}

// listenTCP opens the port of a TCP workload.
func listenTCP(n path, p Params, serve func(context.Context, conns, Params) (Report, error)) (Server, error) {
	a, err := n.net.listenTCP(p.Address, tcpOptionsOf(p))
	if err != nil {
		return nil, err
	}
	return &tcpServer{listener: &listener{acceptor: a}, p: p, serve: serve}, nil
}

func (s *tcpServer) Port() uint16 { return s.listener.port() }

// Serve serves the opening transfer and then one a round, or the whole trial as
// one where there are no rounds.
func (s *tcpServer) Serve(ctx context.Context, _ Peer) (Report, error) {
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
