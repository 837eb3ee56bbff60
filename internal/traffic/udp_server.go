package traffic

import "context"

// udpServer is the listening end of a workload over UDP.
type udpServer struct {
	at    udpPort
	p     Params
	serve func(context.Context, *udpEnd, Params, Peer) (Report, error)
}

func listenUDP(n network, p Params, serve func(context.Context, *udpEnd, Params, Peer) (Report, error)) (Server, error) {
	at, err := n.listenUDP(p)
	if err != nil {
		return nil, err
	}
	return &udpServer{at: at, p: p, serve: serve}, nil
}

func (s *udpServer) Port() uint16 { return s.at.port() }

func (s *udpServer) Serve(ctx context.Context, peer Peer) (Report, error) {
	defer quiet()()
	defer s.at.close()
	e, err := admitUDP(ctx, s.at, s.p)
	if err != nil {
		return Report{}, err
	}
	defer e.wire.close()
	return s.serve(ctx, e, s.p, peer)
}
