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

// A probe is one line in each direction between two agents: the client sends a token, and the
// server returns the source address that it saw. Address translation forwards the connection,
// usually with the same source port; a relay opens a second connection. So a probe distinguishes
// the two on machines whose firewall rules cannot be read.

// probeInterval is the time between two probes until one is answered. maxProbeTimeout bounds the
// wait for a reply. For UDP the wait starts at probeInterval and doubles each time, because a
// datagram may be lost or delayed on a busy machine.
const (
	probeInterval   = 50 * time.Millisecond
	maxProbeTimeout = time.Second
)

// probeListener is an open port that waits for probes. It answers every probe until it is closed,
// because a client may have missed a reply.
type probeListener struct {
	result chan error // receives once, when the port is closed again; nil if a probe was answered
	stop   context.CancelFunc
}

func tokenOf(req wire.Request) string {
	if req.Probe == nil {
		return ""
	}
	return req.Probe.Token
}

// listenForProbes opens a port and answers probes with the right token.
func (s *server) listenForProbes(ctx context.Context, req wire.Request) wire.Reply {
	k := req.Probe
	if k == nil {
		return wire.Reply{ID: req.ID, Error: "probe request without an address"}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, req.Wait, fmt.Errorf("no probe arrived within %s", req.Wait))
	answered := make(chan error, 1)
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
			answered <- timeoutCause(ctx, answerUDPProbes(conn, k.Token))
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
			answered <- timeoutCause(ctx, answerTCPProbes(l, k.Token))
		}()
	}
	s.probeListeners[k.Token] = probeListener{answered, cancel}
	return wire.Reply{ID: req.ID, Port: port}
}

func portOf(a net.Addr) uint16 {
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return 0 // no other kind of address is listened on
	}
	return p.Port()
}

// timeoutCause returns the cause of the context's end if that has cut an exchange short, else err.
func timeoutCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// answerTCPProbes answers probes until the port is closed, and closes it. It returns an error only
// if it has answered none.
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
		_ = conn.Close() // the exchange is complete, or failed without consequence
	}
}

// answerTCPProbe answers one connection and waits for the client to close it first, so that this
// port is not left in TIME_WAIT.
func answerTCPProbe(conn net.Conn, token string) bool {
	_ = conn.SetDeadline(time.Now().Add(maxProbeTimeout)) // all kinds of connections used here have deadlines
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != token {
		return false
	}
	if _, err := fmt.Fprintf(conn, "%s\n", conn.RemoteAddr()); err != nil {
		return false
	}
	_, _ = r.ReadByte() // end of stream
	return true
}

// answerUDPProbes is answerTCPProbes for UDP.
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

// probe dials until the server answers or the time is over.
func probe(ctx context.Context, req wire.Request) wire.Reply {
	if req.Probe == nil {
		return wire.Reply{ID: req.ID, Error: "probe request without an address"}
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
			return errorReply(req.ID, fmt.Errorf("cannot reach %s over %s: no answer within %s: %w", k.Address, k.Network, req.Wait, err))
		}
	}
}

// probeOnce opens a new connection for each attempt, because address translation keeps its choice
// for a flow.
func probeOnce(ctx context.Context, k *wire.Probe, patience time.Duration) error {
	conn, err := (&net.Dialer{Timeout: maxProbeTimeout}).DialContext(ctx, k.Network, k.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience)) // all kinds of connections used here have deadlines
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

// Reachability is the result of a probe: the source address by the client's own account, and as the
// server saw it.
type Reachability struct{ From, Seen netip.AddrPort }

// SameConnection reports whether both endpoints saw the same connection, with or without address
// translation. It compares source ports: translation keeps the port if that is free, and a relay
// has the same one only by chance.
func (m Reachability) SameConnection() bool { return m.From.Port() == m.Seen.Port() }

// CheckReachability makes the client probe the server over tcp or udp until it gets a reply, for at
// most wait. The server listens on one address and the client dials another; if the port to listen
// on is 0, the client dials the port that the server got.
func CheckReachability(ctx context.Context, client, server *Client, network string, listen, dial netip.AddrPort, wait time.Duration) (Reachability, error) {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return Reachability{}, fmt.Errorf("create a probe token: %w", err)
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
		// The port must be closed before it is needed again.
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

// unmapIPv4 turns an IPv4-mapped IPv6 address into the IPv4 address.
func unmapIPv4(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}
