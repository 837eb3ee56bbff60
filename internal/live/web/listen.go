package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// The time limits of a connection: until the header of a request is complete, until a part of a
// page is taken, and between two requests.
const (
	headerTimeout = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = time.Minute
)

// maxConnections bounds the connections that are open at the same time, and maxHeader a request's
// header, in bytes.
const (
	maxConnections = 256
	maxHeader      = 64 << 10
)

// Listen runs a server until the context ends. serve passes it the listener, for example with
// http.Server.Serve.
func Listen(ctx context.Context, serve func(*http.Server) error, h http.Handler) error {
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	open := connections{waiting: map[net.Conn]time.Time{}, all: map[net.Conn]bool{}}
	server := &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ConnState: open.change, ConnContext: open.context}
	ended := make(chan error, 1)
	go func() { ended <- serve(server) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		stop()
		wait, cancel := context.WithTimeout(base, time.Second)
		defer cancel()
		if server.Shutdown(wait) != nil {
			server.Close()
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}

// connections bounds how many connections are open. With too many it closes the oldest one that is
// not within an admitted request, so that those who only hold connections do not keep others out.
type connections struct {
	mu      sync.Mutex
	all     map[net.Conn]bool
	waiting map[net.Conn]time.Time // not within an admitted request, since when
}

// admitKey is the key of a function in the context of a request that reports it as admitted.
type admitKey struct{}

// context is http.Server.ConnContext.
func (c *connections) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, admitKey{}, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, conn)
	})
}

// markAdmitted reports that a request may see the pages.
func markAdmitted(ctx context.Context) {
	if mark, ok := ctx.Value(admitKey{}).(func()); ok {
		mark()
	}
}

// change is http.Server.ConnState.
func (c *connections) change(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew, http.StateIdle:
		c.all[conn] = true
		c.waiting[conn] = time.Now()
	case http.StateHijacked, http.StateClosed:
		delete(c.all, conn)
		delete(c.waiting, conn)
	case http.StateActive: // after the first byte of a request, which may never be complete
	}
	if len(c.all) <= maxConnections {
		return
	}
	oldest := conn
	for other, since := range c.waiting {
		if at, ok := c.waiting[oldest]; !ok || since.Before(at) {
			oldest = other
		}
	}
	delete(c.all, oldest)
	delete(c.waiting, oldest)
	oldest.Close()
}

// timedWriter limits the time of each write, so that a browser that stops receiving does not hold a
// request for ever, and a slow one can still receive a large page.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
}

// maxWrite is how much is written at once, in bytes.
const maxWrite = 64 << 10

func newTimedWriter(w http.ResponseWriter, limit time.Duration) *timedWriter {
	t := &timedWriter{w, http.NewResponseController(w), limit}
	t.extend()
	return t
}

// extend gives the next write its time. A writer without deadlines is that of a test.
func (t *timedWriter) extend() { _ = t.control.SetWriteDeadline(time.Now().Add(t.limit)) }

// Write writes in parts.
func (t *timedWriter) Write(b []byte) (n int, err error) {
	for part := range slices.Chunk(b, maxWrite) {
		t.extend()
		m, err := t.ResponseWriter.Write(part)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Unwrap returns the writer that http.ResponseController looks for.
func (t *timedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }
