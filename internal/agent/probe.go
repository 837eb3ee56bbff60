package agent

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/timelimit"
	"tare/internal/traffic/admission"
	"tare/internal/traffic/socket"
	"tare/internal/unit"
)

// A probe is one line in each direction between two agents: the client sends a token, and the
// server returns the source address that it saw. Address translation forwards the connection,
// usually with the same source port; a relay opens a second connection. So a probe distinguishes
// the two on machines whose firewall rules cannot be read.

// probeInterval is the time between two probes until one is answered. maxProbeTimeout bounds the
// wait for a reply. For UDP the wait starts at probeInterval and doubles each time, because a
// datagram may be lost or delayed on a busy machine.
const probeInterval = 50 * time.Millisecond

func maxProbeTimeout() time.Duration { return timelimit.Scaled(time.Second) }

// maxProbeConns bounds how many connections of a probe's port may be open without the token, and
// how many with it.
const maxProbeConns = 128

// maxProbeReply is longer than any reply, which is an address and a port.
const maxProbeReply = 128

// awaited is what a later request asks the reply of, such as a port that waits for probes.
type awaited struct {
	reply <-chan wire.Reply // receives once, at the latest after stop
	stop  func()
}

// await answers at an open port until stop is called or the answer is complete, and adds it to what a later request ends.
func await(in map[string]awaited, token string, stop context.CancelFunc, answer func() probeResult) {
	reply := make(chan wire.Reply, 1)
	go func() {
		defer stop()
		reply <- answer().reply()
	}()
	in[token] = awaited{reply, stop}
}

// probeResult is what arrived at a port until it was closed.
type probeResult struct {
	refused     int   // connections and datagrams without the token
	intercepted bool  // the last probe came from a proxy in this network namespace; only if that was asked
	err         error // nil if a probe was answered, or a path probe was listened for
}

// reply returns the reply to the request for the result, without the id of that.
func (r probeResult) reply() wire.Reply {
	reply := errorReply(0, r.err)
	reply.Refused = r.refused
	if r.intercepted {
		reply.Probe = &wire.Probe{Intercepted: true}
	}
	return reply
}

func tokenOf(req wire.Request) string {
	if req.Probe == nil {
		return ""
	}
	return req.Probe.Token
}

// listenForProbes opens a port and answers every probe with the right token until the port is closed, because a client may
// have missed a reply.
func (s *server) listenForProbes(ctx context.Context, req wire.Request) wire.Reply {
	k := req.Probe
	if k == nil || k.Token == "" {
		return wire.Reply{ID: req.ID, Error: "probe request without an address or a token"}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, req.Wait, fmt.Errorf("no probe arrived within %s", req.Wait))
	port, answer, err := openProbePort(ctx, k)
	if err != nil {
		cancel()
		return errorReply(req.ID, err)
	}
	await(s.probeListeners, k.Token, cancel, answer)
	return wire.Reply{ID: req.ID, Port: port}
}

// openProbePort opens a port and returns a function that answers probes on it until the context
// ends, and closes it.
func openProbePort(ctx context.Context, k *wire.Probe) (port uint16, answer func() probeResult, err error) {
	if k.Network == "udp" {
		conn, err := socket.ListenPacket(ctx, k.Address)
		if err != nil {
			return 0, nil, err
		}
		return portOf(conn.LocalAddr()), func() probeResult { return answerUDPProbes(ctx, conn, k.Token) }, nil
	}
	token, respond := k.Token+"\n", answerTCPProbe
	if k.Network == "http" { // each request has to show by itself that it is one
		token, respond = "", answerHTTPProbe(k.Token)
	}
	gate, err := admission.Listen(k.Address, token, maxProbeConns)
	if err != nil {
		return 0, nil, err
	}
	if !k.FindProxy {
		return gate.Port(), func() probeResult { return answerTCPProbes(ctx, gate, respond) }, nil
	}
	var found lastProxy
	return gate.Port(), func() probeResult {
		r := answerTCPProbes(ctx, gate, found.looking(respond))
		if r.intercepted = found.intercepted; r.err == nil {
			r.err = found.err
		}
		return r
	}, nil
}

// closeAtEnd closes a port when the context ends, which ends a wait on it. The function that it
// returns closes the port too, and returns when that is done, whoever began: the next request may
// open the same port.
func closeAtEnd(ctx context.Context, closePort func()) (closed func()) {
	var once sync.Once
	stop := context.AfterFunc(ctx, func() { once.Do(closePort) })
	return func() {
		stop()
		once.Do(closePort)
	}
}

func portOf(a net.Addr) uint16 {
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return 0 // no other kind of address is listened on
	}
	return p.Port()
}

// unlessAnswered returns the cause of the context's end if no probe was answered before.
func unlessAnswered(ctx context.Context, answered bool) error {
	if answered {
		return nil
	}
	return context.Cause(ctx)
}

// responder answers a connection, if it is a probe.
type responder func(ctx context.Context, conn admission.Stream) (ours, answered bool)

// lastProxy is whether the last connection that was answered came from a proxy in this network namespace.
type lastProxy struct {
	mu          sync.Mutex
	intercepted bool
	err         error // why that is unknown
}

// looking returns a responder that first looks where a connection comes from, while both of its ends are open.
func (l *lastProxy) looking(respond responder) responder {
	return func(ctx context.Context, conn admission.Stream) (ours, answered bool) {
		from := unmapIPv4(conn.Peer())
		here, err := otherEndHere(func(local, _ netip.AddrPort) bool { return local == from })
		if ours, answered = respond(ctx, conn); answered {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.intercepted, l.err = here, err
		}
		return ours, answered
	}
}

// answerTCPProbes answers probes until the context ends.
func answerTCPProbes(ctx context.Context, gate *admission.Gate, respond responder) probeResult {
	var answered atomic.Bool
	var strange atomic.Int64
	var open sync.WaitGroup
	defer open.Wait()
	defer closeAtEnd(ctx, gate.Close)() // ends a wait in Next
	slots := make(chan struct{}, maxProbeConns)
	for {
		conn, _, err := gate.Next()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			break
		}
		if admission.IsAgain(err) {
			continue
		}
		if err != nil {
			return probeResult{refused: gate.Refused, err: err}
		}
		slots <- struct{}{}
		open.Go(func() {
			defer func() { <-slots }()
			ours, done := respond(ctx, conn)
			if done {
				answered.Store(true)
			}
			if !ours {
				strange.Add(1)
			}
		})
	}
	gate.Finish()
	open.Wait()
	return probeResult{refused: gate.Refused + int(strange.Load()), err: unlessAnswered(ctx, answered.Load())}
}

// answerTCPProbe answers one connection and waits for the client to close it first, so that this
// port is not left in TIME_WAIT.
func answerTCPProbe(ctx context.Context, conn admission.Stream) (ours, answered bool) {
	defer conn.Close()
	until := time.Now().Add(maxProbeTimeout())
	if _, err := fmt.Fprintf(conn, "%s\n", conn.Peer()); err != nil {
		return true, false
	}
	awaitEnd(ctx, conn, until)
	return true, true
}

// awaitEnd waits until the peer closes a connection.
func awaitEnd(ctx context.Context, conn admission.Stream, until time.Time) {
	for b := make([]byte, 1); time.Now().Before(until) && ctx.Err() == nil; {
		if _, err := conn.Read(b); !admission.IsAgain(err) {
			break // the end of the stream
		}
	}
}

// answerUDPProbes is answerTCPProbes for UDP. Datagrams without the token are not answered.
func answerUDPProbes(ctx context.Context, conn net.PacketConn, token string) probeResult {
	defer closeAtEnd(ctx, func() { conn.Close() })()
	buf := make([]byte, 512)
	refused := 0
	for answered := false; ; {
		n, from, err := conn.ReadFrom(buf)
		if err != nil && ctx.Err() != nil {
			return probeResult{refused: refused, err: unlessAnswered(ctx, answered)}
		}
		if err != nil {
			return probeResult{refused: refused, err: err}
		}
		if subtle.ConstantTimeCompare(bytes.TrimSpace(buf[:n]), []byte(token)) != 1 {
			refused++
			continue
		}
		if _, err = conn.WriteTo([]byte(from.String()+"\n"), from); err == nil {
			answered = true
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
	patience := maxProbeTimeout()
	if k.Network == "udp" {
		patience = probeInterval
	}
	err := tried(ctx, func() error {
		err := probeOnce(ctx, &k, patience)
		patience = min(2*patience, maxProbeTimeout())
		return err
	})
	if err != nil {
		return errorReply(req.ID, fmt.Errorf("cannot reach %s over %s: no answer within %s: %w", k.Address, k.Network, req.Wait, err))
	}
	return wire.Reply{ID: req.ID, Probe: &k}
}

// tried repeats an attempt until it succeeds or ctx, which has a deadline, ends, and returns the error of the last one.
// One that the end cut short tells only that, and not what those before it met.
func tried(ctx context.Context, attempt func() error) error {
	end, _ := ctx.Deadline()
	var met error
	for {
		err := attempt()
		if err == nil {
			return nil
		}
		if met == nil || time.Until(end) > probeInterval {
			met = err
		}
		select {
		case <-time.After(probeInterval):
		case <-ctx.Done():
			return met
		}
	}
}

// probeOnce opens a new connection for each attempt, because address translation keeps its choice
// for a flow.
func probeOnce(ctx context.Context, k *wire.Probe, patience time.Duration) error {
	conn, err := dialProbe(ctx, k)
	if err != nil {
		return err
	}
	defer conn.Close()
	until := time.Now().Add(patience)
	_ = conn.SetDeadline(until) // all kinds of connections used here have deadlines
	if k.Network == "http" {
		k.Local = conn.LocalAddr().String()
		return askHTTP(conn, k, until)
	}
	if _, err := fmt.Fprintf(conn, "%s\n", k.Token); err != nil {
		return err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxProbeReply)).ReadString('\n')
	if err != nil {
		return err
	}
	k.Local, k.Seen = conn.LocalAddr().String(), strings.TrimSpace(line)
	if k.FindProxy && k.Network == "tcp" {
		return findProxy(conn, k)
	}
	return nil
}

// findProxy finds out, while a connection is open, whether it leads to a proxy in this network namespace.
func findProxy(conn net.Conn, k *wire.Probe) error {
	own, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err == nil {
		own = unmapIPv4(own)
		k.Intercepted, err = otherEndHere(func(_, remote netip.AddrPort) bool { return remote == own })
	}
	return err
}

func dialProbe(ctx context.Context, k *wire.Probe) (net.Conn, error) {
	if k.Network != "udp" {
		return (&net.Dialer{Timeout: maxProbeTimeout()}).DialContext(ctx, "tcp", k.Address)
	}
	to, err := netip.ParseAddrPort(k.Address)
	if err != nil {
		return nil, fmt.Errorf("probe %q: %w", k.Address, err)
	}
	return socket.DialPacket(to)
}

func errorReply(id uint64, err error) wire.Reply {
	if err == nil {
		return wire.Reply{ID: id}
	}
	return wire.Reply{ID: id, Error: err.Error()}
}

// Reachability is the result of a probe: the source address by the client's own account, and as the
// server saw it. Refused is how many connections and datagrams without the probe's token arrived at
// the server's port meanwhile; it is also set if the probe failed. Arrived means that the server got
// a probe; if the client got no answer to it, the way back is closed.
type Reachability struct {
	From, Seen netip.AddrPort
	Forwarded  []string // of a probe over http: the addresses in X-Forwarded-For at the server
	Refused    int
	Arrived    bool
	// Intercepted is set by FindProxies.
	Intercepted Intercepted
}

// Intercepted is at which ends a connection over TCP leads to a proxy in the network namespace of the endpoint itself, such as the
// sidecar of a service mesh, which opens one of its own.
type Intercepted struct{ Client, Server bool }

// ListenError is the error that the server of a probe could not open its port.
type ListenError struct{ Err error }

func (l *ListenError) Error() string { return l.Err.Error() }
func (l *ListenError) Unwrap() error { return l.Err }

// SameConnection reports whether both endpoints saw the same connection, with or without address
// translation. It compares source ports: translation keeps the port if that is free, and a relay
// has the same one only by chance.
func (m Reachability) SameConnection() bool { return m.From.Port() == m.Seen.Port() }

// CheckReachability makes the client probe the server over tcp or udp until it gets a reply, for at
// most wait. The server listens on one address and the client dials another; if the port to listen
// on is 0, the client dials the port that the server got.
func CheckReachability(ctx context.Context, client, server *Client, network string, listen, dial netip.AddrPort, wait time.Duration) (Reachability, error) {
	return checkProbe(ctx, client, server, wire.Probe{Network: network}, listen, dial, wait)
}

// FindProxies is CheckReachability over tcp that also finds at which ends a proxy intercepts the connection.
func FindProxies(ctx context.Context, client, server *Client, listen, dial netip.AddrPort, wait time.Duration) (Reachability, error) {
	return checkProbe(ctx, client, server, wire.Probe{Network: "tcp", FindProxy: true}, listen, dial, wait)
}

// CheckForwarded is CheckReachability by a request of HTTP/1.1 that names a host, through a proxy at the address that
// the client dials. Only an answer of the server itself is one.
func CheckForwarded(ctx context.Context, client, server *Client, host string, listen, dial netip.AddrPort, wait time.Duration) (Reachability, error) {
	return checkProbe(ctx, client, server, wire.Probe{Network: "http", Host: host}, listen, dial, wait)
}

// newToken is what a probe shows that it is one by.
func newToken() (string, error) {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("create a probe token: %w", err)
	}
	return hex.EncodeToString(raw), nil
}

func checkProbe(ctx context.Context, client, server *Client, k wire.Probe, listen, dial netip.AddrPort, wait time.Duration) (Reachability, error) {
	token, err := newToken()
	if err != nil {
		return Reachability{}, err
	}
	k.Address, k.Token = listen.String(), token
	reply, err := server.call(ctx, wire.Request{Op: wire.OpProbeListen, Probe: &k, Wait: wait + time.Second})
	if err != nil {
		return Reachability{}, &ListenError{err}
	}
	if listen.Port() == 0 {
		dial = netip.AddrPortFrom(dial.Addr(), reply.Port)
	}
	k.Address = dial.String()
	seen, err := client.call(ctx, wire.Request{Op: wire.OpProbe, Probe: &k, Wait: wait})
	// The port must be closed before it is needed again.
	closed, closeErr := server.call(ctx, wire.Request{Op: wire.OpProbeResult, Probe: &k})
	m := Reachability{Refused: closed.Refused, Arrived: closeErr == nil}
	if err != nil || seen.Probe == nil {
		if m.Refused > 0 {
			err = fmt.Errorf("%w; %s of others arrived at its port", err, unit.Count(m.Refused, "connection or datagram", "connections or datagrams"))
		}
		return m, errors.Join(err, client.Err(), server.Err())
	}
	if closeErr != nil {
		return m, closeErr
	}
	if m.From, err = netip.ParseAddrPort(seen.Probe.Local); err == nil {
		m.Seen, err = netip.ParseAddrPort(seen.Probe.Seen)
	}
	m.From, m.Seen = unmapIPv4(m.From), unmapIPv4(m.Seen)
	m.Intercepted = Intercepted{Client: seen.Probe.Intercepted, Server: closed.Probe != nil && closed.Probe.Intercepted}
	for one := range strings.SplitSeq(seen.Probe.Forwarded, ",") {
		if one = strings.TrimSpace(one); one != "" {
			m.Forwarded = append(m.Forwarded, one)
		}
	}
	return m, err
}

// unmapIPv4 turns an IPv4-mapped IPv6 address into the IPv4 address.
func unmapIPv4(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}
