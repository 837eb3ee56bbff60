package udp

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

// A trial over UDP begins with the client's hello on each flow, said again and
// again until the server has answered each; then the client says that it is
// ready, until the server's go. Any of it may be lost. The server answers only
// who knows the token, and connects its sockets before the go, so that all of
// the trial's own datagrams come through those.

// handshakeInterval is how often what was not answered is said again.
const handshakeInterval = 50 * time.Millisecond

// endpoint is one end of a trial whose flows are set up.
type endpoint struct {
	wire        socket.UDPWire
	tag         uint64
	clock       clock
	sharedClock bool // the peer reads the same clock
	refused     int
}

// acceptClient waits for the trial's client on the server's port.
func acceptClient(ctx context.Context, port socket.UDPPort, p traffic.Params) (*endpoint, error) {
	e := &endpoint{tag: datagramTag(p.Token), clock: newClock()}
	peers := make([]netip.AddrPort, max(1, p.Streams))
	came := 0
	buf := make([]byte, maxMessage+1)
	for {
		n, from, err := port.Receive(buf)
		switch {
		case err != nil && !socket.IsAgain(err) && !errors.Is(err, socket.ErrRefused):
			return nil, fmt.Errorf("wait for the client: %w", err)
		case ctx.Err() != nil:
			return nil, fmt.Errorf("wait for the client: %d of %d flows came, and %d datagrams without the trial's token: %w",
				came, len(peers), e.refused, context.Cause(ctx))
		case err != nil:
			continue
		}
		m, ok := parseMessage(buf[:n])
		if !ok || !hasToken(m, p.Token) {
			e.refused++
			continue
		}
		if int(m.flows) != len(peers) || int(m.flow) >= len(peers) {
			return nil, fmt.Errorf("wait for the client: it shows flow %d of %d, where this end expects %d", m.flow, m.flows, len(peers))
		}
		known := &peers[m.flow]
		if !known.IsValid() {
			*known = from
			came++
		}
		if *known != from { // somebody says again what the client said
			e.refused++
			continue
		}
		if m.kind == msgReady && came == len(peers) {
			e.sharedClock = m.clock == e.clock.id && m.clock != 0
			e.wire, err = port.Connect(peers)
			return e, err
		}
		// One that cannot be sent is as good as lost: the client says hello again.
		_ = port.Answer(e.message(msgWelcome, m.flow, m.flows), from)
	}
}

// hasToken says whether a message of the client holds the token.
func hasToken(m message, token string) bool {
	fromClient := m.kind == msgHello || m.kind == msgReady || m.kind == msgBye
	return fromClient && m.tag == datagramTag(token) && subtle.ConstantTimeCompare([]byte(m.token), []byte(token)) == 1
}

// message is one of the server's.
func (e *endpoint) message(kind byte, flow, flows uint16) []byte {
	return message{kind: kind, flow: flow, flows: flows, clock: e.clock.id, tag: e.tag}.bytes()
}

// connectClient opens the client's flows and makes them known. With wait it comes back
// when the server is ready to receive, without as soon as the server may send.
func connectClient(ctx context.Context, n socket.UDP, p traffic.Params, to netip.AddrPort, wait bool) (*endpoint, error) {
	e := &endpoint{tag: datagramTag(p.Token), clock: newClock()}
	var err error
	if e.wire, err = n.DialUDP(to, optionsOf(p)); err != nil {
		return nil, err
	}
	if err = e.wire.SetTimeout(handshakeInterval); err == nil {
		err = e.handshake(ctx, p, to, wait)
	}
	if err == nil {
		err = e.wire.SetTimeout(socket.PollTimeout)
	}
	if err != nil {
		e.wire.Close()
		return nil, err
	}
	return e, nil
}

// handshake says what there is to say until the server has answered all of it.
func (e *endpoint) handshake(ctx context.Context, p traffic.Params, to netip.AddrPort, wait bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, socket.ConnectTimeout, fmt.Errorf("no answer within %s: is it listening there, and for this trial?", socket.ConnectTimeout))
	defer cancel()
	flows := max(1, p.Streams)
	welcome, missing := make([]bool, flows), flows
	in := socket.NewInbox(longest(0), p.Offload)
	var last time.Time
	refused := false
	for {
		if ctx.Err() != nil {
			err := fmt.Errorf("greet the server at %s: %d of %d flows were answered: %w", to, flows-missing, flows, context.Cause(ctx))
			if refused {
				err = fmt.Errorf("%w; its host says that nobody has the port", err)
			}
			return err
		}
		if time.Since(last) >= handshakeInterval {
			last = time.Now()
			if err := e.sendHandshake(p, welcome, missing); err != nil && !errors.Is(err, socket.ErrRefused) && !socket.IsAgain(err) {
				return fmt.Errorf("greet the server at %s: %w", to, err)
			}
			if missing == 0 && !wait {
				return nil
			}
		}
		err := e.wire.Receive(in)
		switch {
		case errors.Is(err, socket.ErrRefused):
			refused = true
			time.Sleep(time.Millisecond) // each attempt is refused at once
			continue
		case err != nil && !socket.IsAgain(err):
			return fmt.Errorf("greet the server at %s: %w", to, err)
		}
		for i := range in.N {
			m, ok := parseMessage(in.Bufs[i][:in.Sizes[i]])
			switch {
			case !ok || m.tag != e.tag || in.Flow < 0:
			case m.kind == msgGo && missing == 0:
				return nil
			case m.kind == msgWelcome && int(m.flow) == in.Flow && !welcome[in.Flow]:
				e.sharedClock = m.clock == e.clock.id && m.clock != 0
				welcome[in.Flow] = true
				missing--
				if missing == 0 {
					last = time.Time{} // say at once that all are
				}
			}
		}
	}
}

// sendHandshake says hello on each flow that has no answer yet, or ready where all have.
func (e *endpoint) sendHandshake(p traffic.Params, welcome []bool, missing int) error {
	m := message{kind: msgHello, flows: uint16(len(welcome)), clock: e.clock.id, tag: e.tag, token: p.Token}
	if missing == 0 {
		m.kind = msgReady
		return e.wire.SendOne(0, m.bytes())
	}
	for i, known := range welcome {
		if known {
			continue
		}
		m.flow = uint16(i)
		if err := e.wire.SendOne(i, m.bytes()); err != nil {
			return err
		}
	}
	return nil
}
