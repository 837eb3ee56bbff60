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

// knockPause is between two knocks where nobody answered yet. longestPatience is the
// most that an answer is waited for: a datagram's for knockPause at first and then
// each time twice as long, since it may have been lost, or be on its way on a machine
// that is busy.
const (
	knockPause      = 50 * time.Millisecond
	longestPatience = time.Second
)

// door is an open port at which knocks are awaited. All are answered until it is shut:
// who knocked may have missed the answer.
type door struct {
	knocked chan error // receives once, when the port is closed again; nil if one was answered
	shut    context.CancelFunc
}

func tokenOf(req wire.Request) string {
	if req.Knock == nil {
		return ""
	}
	return req.Knock.Token
}

// answer opens a port and answers there to knocks with the right token.
func (s *server) answer(ctx context.Context, req wire.Request) wire.Reply {
	k := req.Knock
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
			return failed(req.ID, err)
		}
		port = portOf(conn.LocalAddr())
		go func() {
			defer cancel()
			context.AfterFunc(ctx, func() { conn.Close() })
			knocked <- because(ctx, answerDatagrams(conn, k.Token))
		}()
	} else {
		l, err := (&net.ListenConfig{}).Listen(ctx, k.Network, k.Address)
		if err != nil {
			cancel()
			return failed(req.ID, err)
		}
		port = portOf(l.Addr())
		go func() {
			defer cancel()
			context.AfterFunc(ctx, func() { l.Close() })
			knocked <- because(ctx, answerStreams(l, k.Token))
		}()
	}
	s.doors[k.Token] = door{knocked, cancel}
	return wire.Reply{ID: req.ID, Port: port}
}

func portOf(a net.Addr) uint16 {
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return 0 // no other kind of address is listened on
	}
	return p.Port()
}

// because is why an exchange failed: its time limit, where that has cut it short.
func because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// answerStreams answers until the port is closed, and closes it. It returns what ended
// it where it has answered nobody.
func answerStreams(l net.Listener, token string) error {
	defer l.Close()
	for good := false; ; {
		conn, err := l.Accept()
		if err != nil && good {
			return nil
		}
		if err != nil {
			return err
		}
		if answerConn(conn, token) {
			good = true
		}
		_ = conn.Close() // all was said, or nothing that matters
	}
}

// answerConn answers one connection, and waits for the other end to close it
// first: so that it is not this port that stays in TIME_WAIT.
func answerConn(conn net.Conn, token string) bool {
	_ = conn.SetDeadline(time.Now().Add(longestPatience)) // every kind of connection here has deadlines
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

// answerDatagrams is answerStreams for datagrams.
func answerDatagrams(conn net.PacketConn, token string) error {
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

// knock dials until somebody answers or the time is over.
func knock(ctx context.Context, req wire.Request) wire.Reply {
	if req.Knock == nil {
		return wire.Reply{ID: req.ID, Error: "a knock without an address"}
	}
	ctx, cancel := context.WithTimeout(ctx, req.Wait)
	defer cancel()
	k := *req.Knock
	patience := longestPatience
	if k.Network == "udp" {
		patience = knockPause
	}
	for ; ; patience = min(2*patience, longestPatience) {
		err := knockOnce(ctx, &k, patience)
		if err == nil {
			return wire.Reply{ID: req.ID, Knock: &k}
		}
		select {
		case <-time.After(knockPause):
		case <-ctx.Done():
			return failed(req.ID, fmt.Errorf("knock at %s over %s: no answer within %s: %w", k.Address, k.Network, req.Wait, err))
		}
	}
}

// knockOnce dials anew: address translation keeps what it has once chosen for a flow.
func knockOnce(ctx context.Context, k *wire.Knock, patience time.Duration) error {
	conn, err := (&net.Dialer{Timeout: longestPatience}).DialContext(ctx, k.Network, k.Address)
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

func failed(id uint64, err error) wire.Reply {
	if err == nil {
		return wire.Reply{ID: id}
	}
	return wire.Reply{ID: id, Error: err.Error()}
}

// Met is what a knock told: the address the client's end dialled from, and the one
// that the server's end saw.
type Met struct{ From, Seen netip.AddrPort }

// Same reports whether both ends saw one connection, at most with another address.
// It is true of address translation as long as the source port is free there, and
// false of a relay but by chance.
func (m Met) Same() bool { return m.From.Port() == m.Seen.Port() }

// Meet has a client knock at a server over tcp or udp until it is answered, for at
// most wait. The server listens on one address and is dialled at another; where
// the port to listen on is 0, the one it gets is dialled too.
func Meet(ctx context.Context, client, server *Client, network string, listen, dial netip.AddrPort, wait time.Duration) (Met, error) {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return Met{}, fmt.Errorf("draw a token: %w", err)
	}
	k := wire.Knock{Network: network, Address: listen.String(), Token: hex.EncodeToString(raw)}
	reply, err := server.call(ctx, wire.Request{Op: wire.OpAnswer, Knock: &k, Wait: wait + time.Second})
	if err != nil {
		return Met{}, err
	}
	if listen.Port() == 0 {
		dial = netip.AddrPortFrom(dial.Addr(), reply.Port)
	}
	k.Address = dial.String()
	reply, err = client.call(ctx, wire.Request{Op: wire.OpKnock, Knock: &k, Wait: wait})
	if err != nil || reply.Knock == nil {
		// The port is closed before it is needed again.
		_, _ = server.call(ctx, wire.Request{Op: wire.OpAnswered, Knock: &k})
		return Met{}, errors.Join(err, client.Gone(), server.Gone())
	}
	if _, err := server.call(ctx, wire.Request{Op: wire.OpAnswered, Knock: &k}); err != nil {
		return Met{}, err
	}
	var m Met
	if m.From, err = netip.ParseAddrPort(reply.Knock.Local); err == nil {
		m.Seen, err = netip.ParseAddrPort(reply.Knock.Seen)
	}
	m.From, m.Seen = plain(m.From), plain(m.Seen)
	return m, err
}

// plain undoes the writing of an IPv4 address as an IPv6 one.
func plain(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
