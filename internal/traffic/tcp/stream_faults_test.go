package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
	"tare/internal/traffic"
)

// Invalid parameters are refused at both endpoints before anything is opened.
func TestStreamRefuses(t *testing.T) {
	t.Parallel()
	for _, n := range implementations() {
		w := stream{n}
		for what, c := range map[string]struct {
			change func(*traffic.Params)
			says   string
		}{
			"no streams":        {func(p *traffic.Params) { p.Streams = 0 }, "tcp_stream: 0 streams: use at least 1"},
			"fewer than none":   {func(p *traffic.Params) { p.Streams = -3 }, "-3 streams"},
			"writes of nothing": {func(p *traffic.Params) { p.WriteSize = 0 }, "writes of 0 bytes"},
			"fewer threads":     {func(p *traffic.Params) { p.Threads = -1 }, "-1 threads"},
			"a window of less":  {func(p *traffic.Params) { p.Duration = -time.Second }, "a window of -1s"},
		} {
			p := loopback.Params("tcp_stream")
			c.change(&p)
			refused(t, w, p, n.name+", "+what, c.says)
		}
		p := loopback.Params("tcp_stream")
		p.Streams = 100_000_000
		if runtime.GOOS != "windows" {
			refused(t, w, p, n.name+", 100 000 000 streams", "100000000 connections need one open file each, and this process may open")
		}
		p = loopback.Params("tcp_stream")
		p.Address = "nowhere"
		refused(t, w, p, n.name+", no address", "nowhere")
	}
}

func refused(t *testing.T, w stream, p traffic.Params, what, says string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s, lerr := w.Listen(p)
	if lerr == nil {
		s.(streamServer).Server.(*server).listener.Close()
	}
	_, derr := w.Dial(ctx, p, nil)
	_, oerr := w.Open(ctx, p)
	for at, err := range map[string]error{"listen": lerr, "dial": derr, "open": oerr} {
		must.FailLine(t, fmt.Sprintf("%s: %s", what, at), err, says)
	}
}

// A peer that starts correctly and then misbehaves ends the trial with a reason within the trial's
// own deadlines, or the trial is cancelled as soon as the peer has got that far.
func streamBadServer(t *testing.T) {
	tests := map[string]func(*testing.T){}
	wait := func(t *testing.T) func(net.Conn) {
		return func(net.Conn) { <-t.Context().Done() } // the test's context ends before its cleanup
	}
	for _, c := range []struct {
		what    string
		reverse bool
		server  func(t *testing.T, giveUp func()) func(net.Conn)
		says    string
	}{
		{"never says go", false, func(t *testing.T, giveUp func()) func(net.Conn) {
			return func(c net.Conn) { giveUp(); wait(t)(c) }
		}, "to start the trial: too long"},
		{"closes at the token", false, func(*testing.T, func()) func(net.Conn) { return func(net.Conn) {} }, "to start the trial: "},
		{"says something else", false, func(t *testing.T, _ func()) func(net.Conn) {
			return func(c net.Conn) { _, _ = c.Write([]byte("SSH-2.0-x\r\n")); wait(t)(c) }
		}, "unexpected reply: it is not the trial's server"},
		{"never reads", false, func(t *testing.T, _ func()) func(net.Conn) {
			return func(c net.Conn) { _, _ = c.Write([]byte{goByte}); wait(t)(c) }
		}, "send: the receiver did not report the end of its window within 5s"},
		{"closes mid-trial", false, func(*testing.T, func()) func(net.Conn) {
			return func(c net.Conn) {
				_, _ = c.Write([]byte{goByte})
				_, _ = io.CopyN(io.Discard, c, 100_000)
			}
		}, "send: "},
		{"never sends", true, func(t *testing.T, giveUp func()) func(net.Conn) {
			return func(c net.Conn) { _, _ = c.Write([]byte{goByte}); giveUp(); wait(t)(c) }
		}, "too long"},
		{"stops sending mid-trial", true, func(*testing.T, func()) func(net.Conn) {
			return func(c net.Conn) {
				_, _ = c.Write([]byte{goByte})
				_, _ = c.Write(make([]byte, 1000))
				_ = c.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, c)
			}
		}, "receive: the sender stopped after"},
	} {
		for _, n := range implementations() {
			tests[c.what+"/"+n.name] = func(t *testing.T) {
				p := loopback.Params("tcp_stream")
				p.Direction = studytest.Direction(c.reverse)
				if strings.Contains(c.what, "mid-trial") {
					p.Duration = time.Minute
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				p.Address = impostor(t, p, c.server(t, func() { cancel(errors.New("too long")) }))
				must.FailLine(t, "error", must.Err(stream{n}.Dial(ctx, p, nil)), c.says)
			}
		}
	}
	loopback.AtOnce(t, tests)
}

// A client without the token is refused, and its own error says so.
func TestStreamWrongToken(t *testing.T) {
	t.Parallel()
	for _, on := range pairings() {
		p := loopback.Params("tcp_stream")
		ctx, cancel := context.WithCancel(t.Context())
		address, end := loopback.Serve(ctx, t, stream{on.Server}, p)
		p.Address, p.Token = address, "fedcba9876543210"
		must.FailFor(t, on, must.Err(stream{on.Client}.Dial(ctx, p, nil)), "start the trial: ")
		cancel()
		must.FailFor(t, fmt.Sprintf("%s: server gave", on), (<-end).Err, "0 of 1 connections arrived")
	}
}

// If one stream of a client fails, as sender or receiver, the trial ends at once on all streams,
// with the reason of that stream.
func TestStreamClientExits(t *testing.T) {
	t.Parallel()
	for _, n := range implementations() {
		for _, reverse := range []bool{false, true} {
			for _, threads := range []int{0, 1} {
				p := loopback.Params("tcp_stream")
				p.Duration, p.Direction, p.Streams, p.Threads = time.Minute, studytest.Direction(reverse), 3, threads
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				address, end := loopback.Serve(ctx, t, stream{n}, p)
				var c []net.Conn
				for range p.Streams {
					s := must.Get(net.Dial("tcp", address))(t)
					defer s.Close()
					must.Get(s.Write([]byte(p.Token)))(t)
					c = append(c, s)
				}
				for _, s := range c {
					must.Get(io.ReadFull(s, make([]byte, 1)))(t)
				}
				c[1].Close()
				says := "tcp_stream: receive: "
				if reverse {
					says = "tcp_stream: send: "
				}
				must.FailFor(t, fmt.Sprintf("%s, reverse %t, %d threads", n.name, reverse, threads), (<-end).Err, says)
			}
		}
	}
}

// A rate beyond the capacity is missed and reported as missed: it neither hangs nor counts as sent.
func TestStreamRateTooHigh(t *testing.T) {
	t.Parallel()
	for _, on := range pairings() {
		for _, threads := range []int{0, 1} {
			p := loopback.Params("tcp_stream")
			p.Rate, p.WriteSize, p.Threads, p.Streams, p.Duration = 1e15, 1400, threads, 2, 300*time.Millisecond
			client, server := must.Get2(pair(t, on, p))(must.Named(t, on))
			w := client.Window
			// All are missed where the whole window is one write that began before it.
			must.True(t, w.Missed != 0 && w.Missed <= w.Slots && noted(client, "generator_limited") && !noted(server, "generator_limited"),
				"%s: missed %d of %d, notes %v and %v", on, w.Missed, w.Slots, client.Notes, server.Notes)
		}
	}
}

// Threads that an implementation does not have are reported as missing.
func TestStreamThreadsNote(t *testing.T) {
	t.Parallel()
	for _, on := range pairings() {
		p := loopback.Params("tcp_stream")
		p.Streams, p.Threads = 2, 1
		client, server := must.Get2(pair(t, on, p))(must.Named(t, on))
		must.True(t, noted(client, "threads_not_set") == (on.Client.name == "portable") && noted(server, "threads_not_set") == (on.Server.name == "portable"),
			"%s: %v and %v", on, client.Notes, server.Notes)
	}
}

func noted(r traffic.Report, code string) bool {
	return slices.ContainsFunc(r.Notes, func(n result.Note) bool { return n.Code == code })
}
