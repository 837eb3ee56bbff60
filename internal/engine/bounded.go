package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
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

// answerTimeout bounds the time from a request to the end of its answer. A busy machine may take half a minute to start a
// container. An engine that was late once is given hurriedTimeout from then on: what is left to do is to clean up.
func answerTimeout() time.Duration  { return timelimit.Scaled(time.Minute) }
func hurriedTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// errLate is the error for an answer that did not end within its time.
var errLate = errors.New("the answer takes too long")

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
	late := new(atomic.Bool)
	return []client.Opt{
		client.WithDialContext(func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &boundedConn{Conn: conn, late: late}, nil
		}),
		// A compressed answer could be a thousand times as large.
		client.WithHTTPHeaders(map[string]string{"Accept-Encoding": "identity"}),
	}, nil
}

// boundedConn is a connection to an engine on which the answer to each request is limited, in size and in time.
// A request that upgrades the connection to a stream ends that.
type boundedConn struct {
	net.Conn
	bytes, objects atomic.Int64 // read since the last write
	stream         atomic.Bool
	late           *atomic.Bool // an answer of the engine was late
	over           atomic.Bool  // one on this connection is

	mu    sync.Mutex
	limit *time.Timer // closes the connection; nil before the first write
}

func (c *boundedConn) Write(b []byte) (int, error) {
	c.bytes.Store(0)
	c.objects.Store(0)
	if bytes.HasPrefix(b, []byte("POST ")) && bytes.Contains(b, []byte("\r\nUpgrade: ")) {
		c.stream.Store(true)
	}
	c.restart()
	return c.Conn.Write(b)
}

// restart lets the time of an answer begin. One of a connection without a request ends later than the client keeps
// such connections.
func (c *boundedConn) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limit != nil {
		c.limit.Stop()
	}
	if c.stream.Load() {
		return
	}
	within := answerTimeout()
	if c.late.Load() {
		within = hurriedTimeout()
	}
	c.limit = time.AfterFunc(within, func() {
		c.late.Store(true)
		c.over.Store(true)
		_ = c.Conn.Close() // which ends the read
	})
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
	if err != nil && c.over.Load() {
		err = errLate
	}
	return n, err
}

func (c *boundedConn) Close() error {
	c.mu.Lock()
	if c.limit != nil {
		c.limit.Stop()
	}
	c.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends a stream's input, where the connection can.
func (c *boundedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
