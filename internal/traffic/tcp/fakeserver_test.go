package tcp

import (
	"io"
	"net"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// accepting passes each connection to a port with its number, from 0, to serve, which must not wait for long, and closes all after the test.
func accepting(t *testing.T, serve func(i int, c net.Conn)) (address string) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			serve(i, c)
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// began reports whether a connection begins as one of a trial does.
func began(c net.Conn, p traffic.Params) bool {
	b := make([]byte, len(p.Token))
	_, err := io.ReadFull(c, b)
	return err == nil && string(b) == p.Token
}

// fakeServer starts each flow of a trial when it has come, and passes it to fn.
func fakeServer(t *testing.T, p traffic.Params, fn func(c net.Conn)) (address string) {
	t.Helper()
	return accepting(t, func(_ int, c net.Conn) {
		if began(c, p) {
			_, _ = c.Write([]byte{goByte})
			go fn(c)
		}
	})
}

// rrFakeServer starts a trial of tcp_rr when all its flows have come, and passes each to fn.
func rrFakeServer(t *testing.T, p traffic.Params, fn func(flow int, c net.Conn)) (address string) {
	t.Helper()
	var all []net.Conn
	return accepting(t, func(_ int, c net.Conn) {
		if !began(c, p) {
			return
		}
		if all = append(all, c); len(all) < p.Streams {
			return
		}
		for i, c := range all {
			_, _ = c.Write([]byte{goByte})
			go fn(i, c)
		}
	})
}

// crrFakeServer starts a trial on its control connection, and passes all others to fn.
func crrFakeServer(t *testing.T, p traffic.Params, fn func(net.Conn)) (address string) {
	t.Helper()
	return accepting(t, func(i int, c net.Conn) {
		switch {
		case i > 0:
			go fn(c)
		case began(c, p):
			_, _ = c.Write([]byte{goByte})
		}
	})
}

// impostor acts as a server that knows the protocol up to its go, passes on the connection then, and closes it.
func impostor(t *testing.T, p traffic.Params, then func(net.Conn)) (address string) {
	t.Helper()
	return accepting(t, func(_ int, c net.Conn) {
		if began(c, p) {
			go func() {
				then(c)
				c.Close()
			}()
		}
	})
}
