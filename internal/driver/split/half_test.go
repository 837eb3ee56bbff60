package split

import (
	"context"
	"io"
	"syscall"
	"testing"

	"tare/internal/agent/transport"
	"tare/internal/testkit/must"
)

// deadConn is a connection to a process that was killed, whose stdout has not ended yet.
type deadConn struct {
	transport.Conn
	closed chan struct{}
}

func (c deadConn) Read([]byte) (int, error)    { <-c.closed; return 0, io.EOF }
func (deadConn) Write([]byte) (int, error)     { return 0, syscall.EPIPE }
func (deadConn) ExitReason() string            { return "signal: killed" }
func (c deadConn) Close(context.Context) error { close(c.closed); return nil }

// A half that was killed is closed without an error, also before the end of its stdout is
// seen.
func TestCloseKilled(t *testing.T) {
	f := &half{host: Host{Name: "two"}, conn: deadConn{closed: make(chan struct{})}, busy: make(chan struct{}, 1)}
	const want = "host two: tare split, which was asked to snapshot: it has ended: signal: killed"
	if _, err := f.ask(t.Context(), request{Op: opSnapshot}); err == nil || err.Error() != want {
		t.Errorf("the request fails with %v, want %s", err, want)
	}
	must.Do(t, f.close(t.Context()))
}
