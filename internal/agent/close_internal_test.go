package agent

import (
	"context"
	"sync/atomic"
	"testing"

	"tare/internal/testkit/must"
)

// A port that is being closed because its time is over is closed when the function returns: the next
// request can open it.
func TestCloseAtEndWaits(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	began, proceed := make(chan struct{}), make(chan struct{})
	var open atomic.Int32
	open.Store(1)
	closed := closeAtEnd(ctx, func() {
		close(began)
		<-proceed
		open.Add(-1)
	})
	cancel()
	<-began
	returned := make(chan int32, 1)
	go func() {
		closed()
		returned <- open.Load()
	}()
	select {
	case <-returned:
		t.Error("it returned while the port was being closed")
	default:
	}
	close(proceed)
	must.Equal(t, int32(0), <-returned)
}

// Without an end of the context the function closes the port, once.
func TestCloseAtEndCloses(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	closed := closeAtEnd(ctx, func() { n++ })
	closed()
	cancel()
	closed()
	must.Equal(t, 1, n)
}
