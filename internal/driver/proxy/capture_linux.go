package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/proxy/relay"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/timelimit"
)

// markerBytes is the length of the message that checkCrossing sends.
const markerBytes = 64

// aesGCM is how the names of cipher suites with AES-GCM in TLS 1.3 begin.
const aesGCM = "TLS_AES_"

// checkCrossing sends a random message through the proxies and back, over each address family,
// while it captures the frames of the underlay. In the clear the message is in these frames
// in both directions, which shows that the capture would see it. With TLS it is not; instead
// each direction has a record as long as the sealed message.
func (p *path) checkCrossing(ctx context.Context) error {
	within := timelimit.Scaled(readyTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %v", within))
	defer cancel()
	pair := p.Pairs()[0]
	for i, listen := range pair.Server.Listen {
		if err := p.crosses(ctx, listen, pair.Server.Dial[i]); err != nil {
			return fmt.Errorf("send a message through the proxies, from sandbox client to %s and back: %w", listen, err)
		}
	}
	if !p.tls {
		return nil
	}
	return p.negotiated()
}

// readyTimeout limits how long the first message may take to return, on a real CPU.
const readyTimeout = 12 * time.Second

// crosses checks one address family.
func (p *path) crosses(ctx context.Context, listen, dial netip.AddrPort) error {
	message := make([]byte, markerBytes)
	if _, err := rand.Read(message); err != nil {
		return err
	}
	frames, err := p.far.ns.Capture(lab.Underlay)
	if err != nil {
		return err
	}
	defer frames.Close()
	from, at := p.PairNamespaces(1)
	if err := echo(ctx, from, at, message, listen, dial, nil); err != nil {
		return p.explain(err)
	}
	crossed, err := frames.Frames()
	if err != nil {
		return err
	}
	return checkFrames(crossed, message, p.tls)
}

// checkFrames checks the frames while a message crossed both ways.
func checkFrames(frames [][]byte, message []byte, encrypted bool) error {
	clear, record := 0, 0
	length := relay.SealedLength(len(message))
	header := []byte{0x17, 0x03, 0x03, byte(length >> 8), byte(length)} // application data (RFC 8446 section 5.1)
	for _, f := range frames {
		if bytes.Contains(f, message) {
			clear++
		}
		if bytes.Contains(f, header) {
			record++
		}
	}
	const ways = 2
	switch {
	case !encrypted && clear < ways:
		return fmt.Errorf("%d of %d frames on the underlay contain the message; it crosses %d times in the clear", clear, len(frames), ways)
	case encrypted && clear > 0:
		return fmt.Errorf("%d of %d frames on the underlay contain the message in the clear", clear, len(frames))
	case encrypted && record < ways:
		return fmt.Errorf("%d of %d frames on the underlay contain a TLS record of the message; it crosses %d times", record, len(frames), ways)
	}
	return nil
}

// echo sends a message from a client in a namespace to a server in another and back. While both
// have their connections, met checks their addresses, unless it is nil.
func echo(ctx context.Context, from, at *linuxnet.NS, message []byte, listen, dial netip.AddrPort, met func(client, server net.Conn) error) error {
	return meet(ctx, from, at, listen, dial, func(client, server net.Conn) error {
		got := make([]byte, len(message))
		if _, err := io.ReadFull(server, got); err != nil {
			return err
		}
		if met != nil {
			if err := met(client, server); err != nil {
				return err
			}
		}
		_, err := server.Write(got)
		return err
	}, func(client net.Conn) error {
		if _, err := client.Write(message); err != nil {
			return err
		}
		got := make([]byte, len(message))
		if _, err := io.ReadFull(client, got); err != nil {
			return err
		}
		return same(got, message)
	})
}

// same returns an error if what returned is not the message.
func same(got, message []byte) error {
	if !bytes.Equal(got, message) {
		return errors.New("another message returned")
	}
	return nil
}

// meet opens a connection from a namespace to a server in another, at which it arrives as another
// connection. serve runs at the server, with the client's connection for its addresses, and talk at the
// client. An error of serve that is not of its connection counts first: the client sees only its consequence.
func meet(ctx context.Context, from, at *linuxnet.NS, listen, dial netip.AddrPort, serve func(client, server net.Conn) error, talk func(client net.Conn) error) error {
	var listener *net.TCPListener
	err := at.Do(func() (err error) {
		listener, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(listen))
		return err
	})
	if err != nil {
		return err
	}
	defer listener.Close()
	end, _ := ctx.Deadline()
	if err := listener.SetDeadline(end); err != nil {
		return err
	}
	var client net.Conn
	err = from.Do(func() (err error) {
		client, err = (&net.Dialer{}).DialContext(ctx, "tcp", dial.String())
		return err
	})
	if err != nil {
		return err
	}
	defer client.Close()
	served, talked := make(chan error, 1), make(chan struct{})
	go func() { served <- serveOne(listener, client, end, serve, talked) }()
	err = client.SetDeadline(end)
	if err == nil {
		err = talk(client)
	}
	close(talked)
	listener.Close()
	failed := <-served
	var network net.Error
	if failed != nil && (err == nil || !errors.As(failed, &network) && !errors.Is(failed, io.EOF) && !errors.Is(failed, io.ErrUnexpectedEOF)) {
		return failed
	}
	return err
}

// serveOne accepts one connection and keeps it open until its client has talked.
func serveOne(listener net.Listener, client net.Conn, end time.Time, serve func(client, server net.Conn) error, talked <-chan struct{}) error {
	server, err := listener.Accept()
	if err != nil {
		return err
	}
	defer server.Close()
	if err := server.SetDeadline(end); err != nil {
		return err
	}
	if err := serve(client, server); err != nil {
		return err
	}
	<-talked
	return nil
}

// explain adds the proxies' reason to an error.
func (p *path) explain(err error) error {
	for _, s := range p.sides() {
		if c, cannot := s.counters(); cannot == nil && c.Reason != "" {
			return fmt.Errorf("%w (the proxy of host %s: %s)", err, s.At, c.Reason)
		}
	}
	return err
}

// negotiated reads back what the proxies negotiated, and records it.
func (p *path) negotiated() error {
	for _, s := range p.sides() {
		c, err := s.counters()
		if err != nil {
			return err
		}
		if len(c.States) != 1 {
			return fmt.Errorf("the proxy of host %s has negotiated %d kinds of connections: %v", s.At, len(c.States), c.States)
		}
		p.state = c.States[0]
		if !strings.HasPrefix(p.state.Suite, aesGCM) {
			return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("the proxies negotiated %s, because the CPU has no instructions for AES; the mode is of AES-GCM, as in service meshes", p.state.Suite)}
		}
		if err := c.Check(p.state); err != nil {
			return fmt.Errorf("the proxy of host %s: %w", s.At, err)
		}
	}
	p.AddFact("TLS", p.state.String()+", a full handshake for each connection")
	p.AddDeciding("TLS library", "crypto/tls of "+runtime.Version())
	return nil
}
