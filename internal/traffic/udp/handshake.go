package udp

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/study"
	"tare/internal/timelimit"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

// A trial over UDP starts with a handshake. The client sends a hello on each flow, repeatedly,
// until the server has answered each; then it sends ready until it receives the server's go. Any of
// these may be lost. The server answers only a client that knows the token. It connects its sockets
// before it sends go, so that all datagrams of the trial arrive on those sockets.

// handshakeInterval is how often an unanswered message is repeated.
const handshakeInterval = 50 * time.Millisecond

// endpoint is one endpoint of a trial whose flows are set up.
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
	arrived := 0
	buf := make([]byte, maxMessage+1)
	for {
		n, from, err := port.Receive(buf)
		switch {
		case err != nil && !socket.IsAgain(err) && !errors.Is(err, socket.ErrRefused):
			return nil, fmt.Errorf("wait for the client: %w", err)
		case ctx.Err() != nil:
			return nil, fmt.Errorf("wait for the client: %d of %d flows arrived, and %d datagrams without the trial's token: %w",
				arrived, len(peers), e.refused, context.Cause(ctx))
		case err != nil:
			continue
		}
		m, ok := parseMessage(buf[:n])
		if !ok || m.kind == msgBye || !hasToken(m, p.Token) { // a bye opens nothing: it may be late, of an earlier client
			e.refused++
			continue
		}
		if int(m.flows) != len(peers) || int(m.flow) >= len(peers) {
			return nil, fmt.Errorf("wait for the client: it opens flow %d of %d, but this endpoint expects %d", m.flow, m.flows, len(peers))
		}
		known := &peers[m.flow]
		if !known.IsValid() {
			*known = from
			arrived++
		}
		if *known != from { // a replay of the client's message from another address
			e.refused++
			continue
		}
		if m.kind == msgReady && arrived == len(peers) {
			e.sharedClock = m.clock == e.clock.id && m.clock != 0
			e.wire, err = port.Connect(peers)
			return e, err
		}
		// A lost reply needs no handling: the client repeats its hello.
		_ = port.Answer(e.message(msgWelcome, m.flow, m.flows), from)
	}
}

// hasToken reports whether a message is from the client and has the token.
func hasToken(m message, token string) bool {
	fromClient := m.kind == msgHello || m.kind == msgReady || m.kind == msgBye
	return fromClient && m.tag == datagramTag(token) && subtle.ConstantTimeCompare([]byte(m.token), []byte(token)) == 1
}

// message returns a message of the server.
func (e *endpoint) message(kind byte, flow, flows uint16) []byte {
	return message{kind: kind, flow: flow, flows: flows, clock: e.clock.id, tag: e.tag}.bytes()
}

// connectClient opens the client's flows and does the handshake. With wait it returns when the
// server is ready to receive, without wait as soon as the server may send.
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

// handshake repeats the client's messages until the server has answered all of them.
func (e *endpoint) handshake(ctx context.Context, p traffic.Params, to netip.AddrPort, wait bool) error {
	within := timelimit.Scaled(socket.ConnectTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %s; check that the server of this trial listens there", within))
	defer cancel()
	flows := max(1, p.Streams)
	welcome, missing := make([]bool, flows), flows
	in := socket.NewInbox(longest(0), p.Offload == study.On)
	var last time.Time
	refused := false
	for {
		if ctx.Err() != nil {
			err := fmt.Errorf("handshake with the server at %s: %d of %d flows were answered: %w", to, flows-missing, flows, context.Cause(ctx))
			if refused {
				err = fmt.Errorf("%w; its host reports that the port is closed", err)
			}
			return err
		}
		if time.Since(last) >= handshakeInterval {
			last = time.Now()
			if err := e.sendHandshake(p, welcome, missing); err != nil && !errors.Is(err, socket.ErrRefused) && !socket.IsAgain(err) {
				return fmt.Errorf("handshake with the server at %s: %w", to, err)
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
			return fmt.Errorf("handshake with the server at %s: %w", to, err)
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
					last = time.Time{} // send ready at once
				}
			}
		}
	}
}

// sendHandshake sends hello on each flow without a reply, or ready if all have one.
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
