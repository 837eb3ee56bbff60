package agent

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"tare/internal/agent/wire"
)

// A knock is one line each way between two agents: the token there, and back the
// address that it was seen to come from. Address translation keeps a connection
// one, and with it, as a rule, its source port; a relay makes two of it. So a
// knock tells the one from the other on machines whose rules nobody may read.

// probeInterval is between two knocks where nobody answered yet. maxProbeTimeout is the
// most that an answer is waited for: a datagram's for probeInterval at first and then
// each time twice as long, since it may have been lost, or be on its way on a machine
// that is busy.
const (
	probeInterval   = 50 * time.Millisecond
	maxProbeTimeout = time.Second
)

// probeListener is an open port at which knocks are awaited. All are answered until it is shut:
// who knocked may have missed the answer.
type probeListener struct {
	result chan error // receives once, when the port is closed again; nil if one was answered
	stop   context.CancelFunc
}

func tokenOf(req wire.Request) string {
	if req.Probe == nil {
		return ""
	}
	return req.Probe.Token
}

// listenForProbes opens a port and answers there to knocks with the right token.
func (s *server) listenForProbes(ctx context.Context, req wire.Request) wire.Reply {
	k := req.Probe
	if k == nil {
		return wire.Reply{ID: req.ID, Error: "a knock without an address"}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, req.Wait, fmt.Errorf("nobody knocked within %s", req.Wait))
	knocked := make(chan error, 1)
	var port uint16
	if k.Network == "udp" {
		conn, err := (&net.ListenConfig{}).ListenPacket(ctx, k.Network, k.Address)
		if err != nil {
			cancel()
			return errorReply(req.ID, err)
		}
		port = portOf(conn.LocalAddr())
		go func() {
			defer cancel()
			context.AfterFunc(ctx, func() { conn.Close() })
			knocked <- timeoutCause(ctx, answerUDPProbes(conn, k.Token))
		}()
	} else {
		l, err := (&net.ListenConfig{}).Listen(ctx, k.Network, k.Address)
		if err != nil {
			cancel()
			return errorReply(req.ID, err)
		}
		port = portOf(l.Addr())
		go func() {
			defer cancel()
			context.AfterFunc(ctx, func() { l.Close() })
			knocked <- timeoutCause(ctx, answerTCPProbes(l, k.Token))
		}()
	}
	s.probeListeners[k.Token] = probeListener{knocked, cancel}
	return wire.Reply{ID: req.ID, Port: port}
}

func portOf(a net.Addr) uint16 {
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return 0 // no other kind of address is listened on
	}
	return p.Port()
}

// timeoutCause is why an exchange failed: its time limit, where that has cut it short.
func timeoutCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// answerTCPProbes answers until the port is closed, and closes it. It returns what ended
// it where it has answered nobody.
func answerTCPProbes(l net.Listener, token string) error {
	defer l.Close()
	for good := false; ; {
		conn, err := l.Accept()
		if err != nil && good {
			return nil
		}
		if err != nil {
			return err
		}
		if answerTCPProbe(conn, token) {
			good = true
		}
		_ = conn.Close() // all was said, or nothing that matters
	}
}

// answerTCPProbe answers one connection, and waits for the other end to close it
// first: so that it is not this port that stays in TIME_WAIT.
func answerTCPProbe(conn net.Conn, token string) bool {
	_ = conn.SetDeadline(time.Now().Add(maxProbeTimeout)) // every kind of connection here has deadlines
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != token {
		return false
	}
	if _, err := fmt.Fprintf(conn, "%s\n", conn.RemoteAddr()); err != nil {
		return false
	}
	_, _ = r.ReadByte() // the end
	return true
}

// answerUDPProbes is answerTCPProbes for datagrams.
func answerUDPProbes(conn net.PacketConn, token string) error {
	defer conn.Close()
	buf := make([]byte, 512)
	for good := false; ; {
		n, from, err := conn.ReadFrom(buf)
		if err != nil && good {
			return nil
		}
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(buf[:n])) != token {
			continue
		}
		if _, err = conn.WriteTo([]byte(from.String()+"\n"), from); err == nil {
			good = true
		}
	}
}

// probe dials until somebody answers or the time is over.
func probe(ctx context.Context, req wire.Request) wire.Reply {
	if req.Probe == nil {
		return wire.Reply{ID: req.ID, Error: "a knock without an address"}
	}
	ctx, cancel := context.WithTimeout(ctx, req.Wait)
	defer cancel()
	k := *req.Probe
	patience := maxProbeTimeout
	if k.Network == "udp" {
		patience = probeInterval
	}
	for ; ; patience = min(2*patience, maxProbeTimeout) {
		err := probeOnce(ctx, &k, patience)
		if err == nil {
			return wire.Reply{ID: req.ID, Probe: &k}
		}
		select {
		case <-time.After(probeInterval):
		case <-ctx.Done():
			return errorReply(req.ID, fmt.Errorf("knock at %s over %s: no answer within %s: %w", k.Address, k.Network, req.Wait, err))
		}
	}
}

// probeOnce dials anew: address translation keeps what it has once chosen for a flow.
func probeOnce(ctx context.Context, k *wire.Probe, patience time.Duration) error {
	conn, err := (&net.Dialer{Timeout: maxProbeTimeout}).DialContext(ctx, k.Network, k.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience)) // every kind of connection here has deadlines
	if _, err := fmt.Fprintf(conn, "%s\n", k.Token); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	k.Local, k.Seen = conn.LocalAddr().String(), strings.TrimSpace(line)
	return nil
}

func errorReply(id uint64, err error) wire.Reply {
	if err == nil {
		return wire.Reply{ID: id}
	}
	return wire.Reply{ID: id, Error: err.Error()}
}

// Reachability is what a knock told: the address the client's end dialled from, and the one
// that the server's end saw.
type Reachability struct{ From, Seen netip.AddrPort }

// SameConnection reports whether both ends saw one connection, at most with another address.
// It is true of address translation as long as the source port is free there, and
// false of a relay but by chance.
func (m Reachability) SameConnection() bool { return m.From.Port() == m.Seen.Port() }

// CheckReachability has a client knock at a server over tcp or udp until it is answered, for at
// most wait. The server listens on one address and is dialled at another; where
// the port to listen on is 0, the one it gets is dialled too.
func CheckReachability(ctx context.Context, client, server *Client, network string, listen, dial netip.AddrPort, wait time.Duration) (Reachability, error) {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return Reachability{}, fmt.Errorf("draw a token: %w", err)
	}
	k := wire.Probe{Network: network, Address: listen.String(), Token: hex.EncodeToString(raw)}
	reply, err := server.call(ctx, wire.Request{Op: wire.OpProbeListen, Probe: &k, Wait: wait + time.Second})
	if err != nil {
		return Reachability{}, err
	}
	if listen.Port() == 0 {
		dial = netip.AddrPortFrom(dial.Addr(), reply.Port)
	}
	k.Address = dial.String()
	reply, err = client.call(ctx, wire.Request{Op: wire.OpProbe, Probe: &k, Wait: wait})
	if err != nil || reply.Probe == nil {
		// The port is closed before it is needed again.
		_, _ = server.call(ctx, wire.Request{Op: wire.OpProbeResult, Probe: &k})
		return Reachability{}, errors.Join(err, client.Err(), server.Err())
	}
	if _, err := server.call(ctx, wire.Request{Op: wire.OpProbeResult, Probe: &k}); err != nil {
		return Reachability{}, err
	}
	var m Reachability
	if m.From, err = netip.ParseAddrPort(reply.Probe.Local); err == nil {
		m.Seen, err = netip.ParseAddrPort(reply.Probe.Seen)
	}
	m.From, m.Seen = unmapIPv4(m.From), unmapIPv4(m.Seen)
	return m, err
}

// unmapIPv4 undoes the writing of an IPv4 address as an IPv6 one.
func unmapIPv4(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}
