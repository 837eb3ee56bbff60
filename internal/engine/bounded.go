package engine

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"

	"tare/internal/timelimit"
)

// The limits of an answer of an engine, which the API's client holds in memory completely. A
// list of 5000 containers is below them.
const (
	maxAnswer        = 8 << 20 // bytes
	maxAnswerObjects = 100_000 // of JSON: three bytes can become a structure of hundreds
)

// errAnswer is the error for an answer above the limits.
var errAnswer = fmt.Errorf("the answer has more than %d MiB or %d objects, more than any that tare needs; check what listens at that address", maxAnswer>>20, maxAnswerObjects)

// dialTimeout bounds the time to open a TCP connection.
func dialTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// boundAnswers returns options that limit the answers of the engine that the options connect
// to. The API's client has no place for that but its connections.
func boundAnswers(options []client.Opt) ([]client.Opt, error) {
	// This client only knows how to open connections.
	plain, err := client.New(options...)
	if err != nil {
		return nil, err
	}
	tcp := net.Dialer{Timeout: dialTimeout()}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if strings.HasPrefix(plain.DaemonHost(), "tcp://") {
			return tcp.DialContext(ctx, network, addr) // the client adds TLS
		}
		return plain.Dialer()(ctx)
	}
	return []client.Opt{
		client.WithDialContext(func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &boundedConn{Conn: conn}, nil
		}),
		// A compressed answer could be a thousand times as large.
		client.WithHTTPHeaders(map[string]string{"Accept-Encoding": "identity"}),
	}, nil
}

// boundedConn is a connection to an engine on which the answer to each request is limited.
// A request that upgrades the connection to a stream ends that.
type boundedConn struct {
	net.Conn
	bytes, objects atomic.Int64 // read since the last write
	stream         atomic.Bool
}

func (c *boundedConn) Write(b []byte) (int, error) {
	c.bytes.Store(0)
	c.objects.Store(0)
	if bytes.HasPrefix(b, []byte("POST ")) && bytes.Contains(b, []byte("\r\nUpgrade: ")) {
		c.stream.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *boundedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.stream.Load() {
		return n, err
	}
	objects := bytes.Count(b[:n], []byte{'{'}) + bytes.Count(b[:n], []byte{'['})
	if c.bytes.Add(int64(n)) > maxAnswer || c.objects.Add(int64(objects)) > maxAnswerObjects {
		return 0, errAnswer
	}
	return n, err
}

// CloseWrite ends a stream's input, where the connection can.
func (c *boundedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
