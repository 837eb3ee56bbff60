package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// Both endpoints count the same for any implementations, flows, sizes and ways to close.
func TestCRRConformance(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, x := range exchanges([][2]int{{1, 1}, {7, 20}, {300_000, 2}, {1, 300_000}}) {
		name := fmt.Sprintf("%s, reset %t", x, x.other)
		p := loopback.Params("tcp_crr")
		p.Streams, p.RequestSize, p.ResponseSize, p.Close = x.flows, quantity.Size(x.request), quantity.Size(x.response), closing(x.other)
		p.Warmup, p.Duration = 5*time.Millisecond, 40*time.Millisecond
		p, c, s, err := loopback.Grown(t.Context(), crr{x.on.Client}, crr{x.on.Server}, p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c.Notes = nil // this machine's own source ports may be few
		rrAgree(t, name, p, c, s)
		must.EqualFor(t, name, []any{c.Messages, c.Connections}, []any{int64(c.Connections), s.Connections})
		must.True(t, c.TCP.Wire >= uint64(c.Sent) && s.TCP.Wire >= uint64(s.Sent) && c.TCP.Segments >= 5*uint64(c.Connections),
			"%s: sent %d and %d bytes, bounds %+v and %+v", name, c.Sent, s.Sent, c.TCP, s.TCP)
	}
}

// Slices use one control connection, and nothing between them is lost.
func TestCRRSlices(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, path := range pairings() {
		for _, flows := range []int{1, 4} {
			p := loopback.Params("tcp_crr")
			p.Streams, p.RequestSize, p.ResponseSize, p.Slice, p.Rounds = flows, 1, 1, 50*time.Millisecond, 4
			c, s := must.Get2(loopback.Between(t.Context(), crr{path.Client}, crr{path.Server}, p))(must.Named(t, path))
			c.Notes = nil
			rrAgree(t, path.String(), p, c, s)
			if len(c.Window.Series) != 4 || !(c.Window.Seconds > 0) { // it follows the connections that began in the slices
				t.Errorf("%s: %d values, %g s", path, len(c.Window.Series), c.Window.Seconds)
			}
			if c.Window.Connect.Count() == 0 || c.Window.Connect.Quantile(0.5) > c.Window.FirstByte.Quantile(0.5) {
				t.Errorf("%s: connected after %g s, first byte after %g s", path, c.Window.Connect.Quantile(0.5), c.Window.FirstByte.Quantile(0.5))
			}
		}
	}
}

// Foreign connections during the trial, silent or not, are refused, do not stop the trial and are
// not counted.
func TestCRRForeignConnections(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, path := range pairings() {
		for _, flows := range []int{1, 4} {
			p := loopback.Params("tcp_crr")
			p.Streams, p.Slice, p.Rounds = flows, 100*time.Millisecond, 2
			address, end := loopback.Serve(t.Context(), t, crr{path.Server}, p)
			p.Address = address
			session, err := crr{path.Client}.Open(t.Context(), p)
			if err != nil {
				t.Fatalf("%s, %d flows: %v", path, flows, err)
			}
			sent := make(chan error, 1)
			go func() { sent <- foreign(t, address) }()
			err = errors.Join(session.Slice(t.Context(), p.Slice), <-sent)
			// What comes last in this slice was accepted after all foreign ones.
			err = errors.Join(err, session.Slice(t.Context(), p.Slice))
			c := session.Close()
			s := <-end
			must.Do(must.Named(t, fmt.Sprintf("%s, %d flows", path, flows)), errors.Join(err, s.Err))
			must.EqualFor(t, fmt.Sprintf("%s, %d flows", path, flows), 4, s.Refused)
			s.Refused, c.Notes = 0, nil
			rrAgree(t, path.String(), p, c, s.Report)
			must.EqualFor(t, fmt.Sprintf("%s, %d flows", path, flows), c.Connections, s.Connections)
		}
	}
}

// foreign opens a silent connection, one with another token, one with garbage and one that closes at
// once.
func foreign(t *testing.T, address string) error {
	for _, sent := range []string{"", "fedcba9876543210", "GET / HTTP/1.1\r\n\r\n", "x"} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, sent); err != nil {
			return err
		}
		if sent == "x" {
			c.Close()
		}
	}
	return nil
}

// A server that closes, hangs or exits ends the trial with a reason, before its deadline.
func crrBadServer(t *testing.T) {
	tests := map[string]func(*testing.T){}
	for name, test := range map[string]struct {
		serve func(net.Conn)
		want  []string
	}{
		"answers never": {func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, []string{"did not answer within 5s"}},
		"hangs up":      {func(c net.Conn) { _, _ = c.Read(make([]byte, 100)); c.Close() }, []string{"closed the connection", "reset"}},
		"resets":        {func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0); c.Close() }, []string{"reset", "broken pipe", "closed the connection"}},
	} {
		for _, n := range implementations() {
			for _, flows := range []int{1, 4} {
				tests[fmt.Sprintf("%s/%s/%d", name, n, flows)] = func(t *testing.T) {
					p := loopback.Params("tcp_crr")
					p.Streams, p.Duration = flows, time.Minute
					p.Address = crrFakeServer(t, p, test.serve)
					_, err := crr{n}.Dial(t.Context(), p, nil)
					must.True(t, err != nil && containsAny(err.Error(), test.want), "got %v, want one of %q", err, test.want)
				}
			}
		}
	}
	loopback.AtOnce(t, tests)
}

// Connections that a server, or what is before it, ends are counted beside the others.
func TestCRRSomeFail(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		for _, flows := range []int{1, 4} {
			t.Run(fmt.Sprintf("%T/%d", n, flows), func(t *testing.T) {
				t.Parallel()
				p := loopback.Params("tcp_crr")
				p.Streams, p.Duration = flows, 200*time.Millisecond
				var taken, ended atomic.Int64
				serve := func(c net.Conn) {
					defer c.Close()
					if taken.Add(1)%4 == 0 {
						ended.Add(1)
						_ = c.(*net.TCPConn).SetLinger(0)
						return
					}
					if _, err := io.ReadFull(c, make([]byte, 8+p.RequestSize)); err == nil {
						_, _ = c.Write(make([]byte, p.ResponseSize))
						_, _ = c.Read(make([]byte, 1))
					}
				}
				var got traffic.Report
				for got.Window.Messages < 30 && p.Duration < time.Minute { // a busy machine may have few in a while
					p.Duration *= 2
					p.Address = crrFakeServer(t, p, serve)
					got = must.Get(crr{n}.Dial(t.Context(), p, nil))(t)
				}
				m, _ := crr{}.Metrics(p, got, traffic.Report{})
				if w := got.Window; w.Messages == 0 || w.Failed == 0 || w.Failed > ended.Load() || m["loss_ratio"] < 0.1 || m["loss_ratio"] > 0.4 {
					t.Errorf("%d answered and %d failed of %d, of which %d were ended: %v", w.Messages, w.Failed, taken.Load(), ended.Load(), m)
				}
				must.True(t, len(got.Notes) != 0 && strings.Contains(got.Notes[0].Text, " reset"), "notes %+v", got.Notes)
			})
		}
	}
}

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// An endpoint that exits or is cancelled ends the other one. A client without the token is never
// served.
func TestCRRPeerExits(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, path := range pairings() {
		p := loopback.Params("tcp_crr")
		p.Streams, p.Duration = 2, time.Minute
		serve := func(ctx context.Context) (string, chan error) {
			srv := must.Get(crr{path.Server}.Listen(p))(t)
			served := make(chan error, 1)
			go func() {
				_, err := srv.Serve(ctx, nil)
				served <- err
			}()
			return fmt.Sprintf("127.0.0.1:%d", srv.Port()), served
		}
		// The server is cancelled.
		ctx, cancel := context.WithCancelCause(t.Context())
		addr, served := serve(ctx)
		time.AfterFunc(100*time.Millisecond, func() { cancel(errors.New("enough")) })
		q := p
		q.Address = addr
		_, err := crr{path.Client}.Dial(t.Context(), q, nil)
		if serr := <-served; err == nil || serr == nil || !strings.Contains(serr.Error(), "enough") {
			t.Errorf("%s: server cancelled: client %v, server %v", path, err, serr)
		}

		// The client is cancelled: the server sees the end of its control connection.
		ctx, cancel = context.WithCancelCause(t.Context())
		bounded, unbind := context.WithTimeout(t.Context(), 10*time.Second) // it may exit before it connected
		addr, served = serve(bounded)
		time.AfterFunc(100*time.Millisecond, func() { cancel(errors.New("enough")) })
		q.Address = addr
		_, err = crr{path.Client}.Dial(ctx, q, nil)
		must.FailFor(t, path, err, "enough")
		if err := <-served; err != nil {
			t.Logf("%s: client cancelled: server %v", path, err)
		}
		unbind()

		// The client is cancelled before it begins.
		gone, give := context.WithCancelCause(t.Context())
		give(errors.New("enough"))
		must.FailFor(t, fmt.Sprintf("%s: cancelled before it began", path), must.Err(crr{path.Client}.Dial(gone, q, nil)), "enough")

		// The client has another token.
		ctx, cancel = context.WithCancelCause(t.Context())
		addr, served = serve(ctx)
		q.Address, q.Token = addr, strings.Repeat("x", len(p.Token))
		_, err = crr{path.Client}.Dial(t.Context(), q, nil)
		must.FailFor(t, path, err, "wait for the server")
		cancel(errors.New("enough"))
		must.FailFor(t, fmt.Sprintf("%s: a client without the token was served", path), <-served)
	}
}

// A server that stops to listen refuses all further connections, which ends the trial with the reason, not with the first one.
func TestCRRRefused(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		p := loopback.Params("tcp_crr")
		p.Streams, p.Duration = 1, time.Minute
		l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		p.Address = l.Addr().String()
		go func() {
			control, err := l.Accept()
			if err != nil {
				return
			}
			defer control.Close()
			if _, err := io.ReadFull(control, make([]byte, len(p.Token))); err == nil {
				_, _ = control.Write([]byte{goByte})
			}
			if c, err := l.Accept(); err == nil {
				l.Close() // before this one is answered
				_, _ = io.ReadFull(c, make([]byte, 8+p.RequestSize))
				_, _ = c.Write(make([]byte, p.ResponseSize))
				_, _ = c.Read(make([]byte, 1))
				c.Close()
			}
			_, _ = control.Read(make([]byte, 1)) // until the client ends
		}()
		_, err := crr{n}.Dial(t.Context(), p, nil)
		must.FailFor(t, fmt.Sprintf("%T", n), err, "connection refused, as did 100 before it")
		l.Close()
	}
}
