package secure

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/testkit/must"
	"tare/internal/traffic/socket"
)

const token = "0123456789abcdef"

// end is an end of a connection. A call that waits for a while returns ErrAgain.
type end struct {
	socket.Stream
	conn   net.Conn
	most   int // bytes of a call that writes
	closed bool
}

func (m *end) Read(b []byte) (int, error) {
	_ = m.conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	n, err := m.conn.Read(b)
	switch {
	case errors.Is(err, io.EOF):
		return 0, nil
	case n == 0 && errors.Is(err, os.ErrDeadlineExceeded):
		return 0, socket.ErrAgain
	case n == 0:
		return 0, err
	}
	return n, nil
}

func (m *end) ReadNow(b []byte) (int, error) { return m.Read(b) }

func (m *end) Write(b []byte) (int, error) {
	if m.most > 0 {
		b = b[:min(len(b), m.most)]
	}
	_ = m.conn.SetWriteDeadline(time.Now().Add(5 * time.Millisecond))
	n, err := m.conn.Write(b)
	switch {
	case n > 0:
		return n, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, socket.ErrAgain
	}
	return 0, err
}

func (m *end) CloseWrite() error { return nil }
func (m *end) Close()            { m.closed = true; m.conn.Close() }

// ends are those of a connection.
func ends(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	a = must.Get(net.Dial("tcp", l.Addr().String()))(t)
	b = must.Get(l.Accept())(t)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// joined does the handshake of both ends.
func joined(t *testing.T, c *Client, s *Server, most int) (client, server *Stream, err error) {
	t.Helper()
	a, b := ends(t)
	accepted := make(chan error, 1)
	go func() {
		var err error
		server, err = s.Accept(t.Context(), &end{conn: b, most: most})
		accepted <- err
		if err != nil {
			b.Close()
		}
	}()
	client, err = c.Open(t.Context(), &end{conn: a, most: most})
	if err != nil {
		a.Close()
	}
	if e := <-accepted; err == nil {
		err = e
	}
	return client, server, err
}

// A client takes the server of its token only, even where calls transfer a few bytes, and both count the same bytes.
func TestPinned(t *testing.T) {
	s := must.Get(NewServer(HTTP1, token, false))(t)
	for _, most := range []int{0, 7} {
		client, server := must.Get2(joined(t, NewClient(HTTP1, token, false), s, most))(t)
		written := make(chan error, 1)
		go func() {
			_, err := client.Write(bytes.Repeat([]byte("x"), 100_000))
			written <- err
		}()
		got := 0
		for buf := make([]byte, 4096); got < 100_000; {
			n, err := server.Read(buf)
			must.Require(t, (err == nil || socket.IsAgain(err)) && (n != 0 || err != nil), "%d, %v", n, err)
			got += n
		}
		must.Do(t, <-written)
		must.Equal(t, client.Bytes(), Bytes{server.Bytes().Received, server.Bytes().Sent})
		n := client.Bytes().Sent
		must.True(t, n >= 100_300 && n <= 103_000, "%d bytes with the handshake and the framing", n)
		must.Equal(t, []any{-1, false}, []any{client.FD(), client.Resumed()})
	}
	_, _, err := joined(t, NewClient(HTTP1, "0123456789abcdee", false), s, 0)
	must.FailLine(t, "another token", err, `the certificate of "trial.tare" is not that of the trial`)
	_, ok := errors.AsType[*Error](err)
	must.True(t, ok, "%T", err)
}

// The certificate has no secret, and its key is not that of another.
func TestCertificate(t *testing.T) {
	a, b := must.Get(Certificate(token, time.Now()))(t), must.Get(Certificate(token, time.Now()))(t)
	must.True(t, !bytes.Equal(a.Certificate[0], b.Certificate[0]) && !bytes.Contains(a.Certificate[0], []byte(token)), "two certificates are the same, or one has the token")
	x, y := must.Get(x509.ParseCertificate(a.Certificate[0]))(t), must.Get(x509.ParseCertificate(b.Certificate[0]))(t)
	must.Do(t, check(token, []*x509.Certificate{x}, time.Now()))
	must.Do(t, check(token, []*x509.Certificate{x}, time.Now().Add(100*lifetime))) // clocks differ
	x.SubjectKeyId = y.SubjectKeyId
	must.Fail(t, check(token, []*x509.Certificate{x}, time.Now()), "not that of the trial")
	must.Fail(t, check(token, nil, time.Now()), "no certificate")
	y.SubjectKeyId, y.DNSNames = nil, []string{strings.Repeat("x", 5000) + "\n"}
	if err := check(token, []*x509.Certificate{y}, time.Now()); len(err.Error()) > 300 || strings.Contains(err.Error(), "\n") {
		t.Errorf("%d bytes: %.80v", len(err.Error()), err)
	}
}

// Who closes first says so; the other closes without an answer. A session is resumed where both allow it.
func TestClose(t *testing.T) {
	s := must.Get(NewServer(HTTP1, token, true))(t)
	c := NewClient(HTTP1, token, true)
	for _, resumed := range []bool{false, true} {
		client, server := must.Get2(joined(t, c, s, 0))(t)
		go func() {
			_, _ = server.Write([]byte("x"))
			server.Close()
		}()
		buf := make([]byte, 10)
		total := 0
		for {
			n, err := client.Read(buf)
			if socket.IsAgain(err) {
				continue
			}
			must.Do(t, err)
			if total += n; n == 0 {
				break
			}
		}
		sent := client.Bytes().Sent
		client.Close()
		must.Equal(t, []any{1, sent, true, resumed}, []any{total, client.Bytes().Sent, client.raw.under.(*end).closed, client.Resumed()})
	}
}

// What the context bounds ends with its cause, and a connection that is cut tells so.
func TestEnded(t *testing.T) {
	s := must.Get(NewServer(HTTP1, token, false))(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	a, _ := ends(t)
	_, err := s.Accept(ctx, &end{conn: a})
	must.Fail(t, err, "enough")
	a.Close()

	client, server, err := joined(t, NewClient(HTTP1, token, false), s, 0)
	must.Do(t, err)
	client.Within(ctx)
	const most = 32 << 20                      // more than the kernel holds
	n, err := client.Write(make([]byte, most)) // nobody reads
	if must.Fail(t, err, "enough"); n >= most {
		t.Errorf("%d bytes are said to be sent", n)
	}
	client.raw.under.Close()
	for {
		if n, err = server.Read(make([]byte, 1<<16)); n == 0 && !socket.IsAgain(err) {
			break
		}
	}
	must.True(t, errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET), "%v", err) // the last record is not whole
}

// FuzzStrangers checks that neither end takes anything for a peer of the trial that is none, and that each error is one line.
func FuzzStrangers(f *testing.F) {
	for _, text := range []string{"", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x00\x04\x01\xff\xff\xff", "\x15\x03\x03\x00\x02\x02\x28", "\x16\x03\x03\xff\xff", "\x16\x03\x01\x00\x05\x01\x00\x00\x01x", "\x14\x03\x03\x00\x01\x01"} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	hello := new(recording)
	_ = tls.Client(hello, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(context.Background())
	f.Add(hello.Bytes(), true)
	server, err := NewServer(HTTP1, token, true)
	must.Do(f, err)
	f.Fuzz(func(t *testing.T, sent []byte, toServer bool) {
		var err error
		c := &stranger{sent: sent}
		if toServer {
			_, err = server.Accept(t.Context(), c)
		} else {
			_, err = NewClient(HTTP1, token, false).Open(t.Context(), c)
		}
		must.True(t, err != nil && len(err.Error()) <= 400 && !strings.ContainsAny(err.Error(), "\n\r\x00"), "%q gives %v", sent, err)
		must.True(t, c.got <= 1<<16, "%q is answered with %d bytes", sent, c.got)
	})
}

// recording is a connection that keeps what is written.
type recording struct {
	bytes.Buffer
	net.Conn
}

func (r *recording) Write(b []byte) (int, error)      { return r.Buffer.Write(b) }
func (r *recording) Read([]byte) (int, error)         { return 0, io.EOF }
func (r *recording) Close() error                     { return nil }
func (r *recording) SetDeadline(time.Time) error      { return nil }
func (r *recording) SetWriteDeadline(time.Time) error { return nil }

// stranger has sent everything and reads whatever it is sent.
type stranger struct {
	socket.Stream
	sent []byte
	got  int
}

func (s *stranger) Read(b []byte) (int, error) {
	n := copy(b, s.sent)
	s.sent = s.sent[n:]
	return n, nil
}

func (s *stranger) Write(b []byte) (int, error) {
	s.got += len(b)
	return len(b), nil
}

func (s *stranger) Close() {}
