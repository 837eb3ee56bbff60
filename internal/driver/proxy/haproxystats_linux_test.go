package proxy

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"tare/internal/testkit/must"
)

// After a question whose answer came too late all fail: that answer is not taken for the next one.
func TestLateStatistics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, far := net.Pipe()
		defer own.Close()
		defer far.Close()
		go func() {
			buf := make([]byte, 100)
			for _, wait := range []time.Duration{0, time.Hour, 0} {
				if _, err := far.Read(buf); err != nil {
					return
				}
				time.AfterFunc(wait, func() { _, _ = far.Write([]byte(haproxyAnswer + "> ")) })
			}
		}()
		s := &haproxyStats{workers: []*haproxyWorker{{pid: 7, Conn: own}}}
		must.Equal(t, uint64(123), must.Get(s.requests(t.Context()))(t))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		must.Fail(t, must.Err(s.requests(ctx)), "read the answer of worker 7: ", "timeout")
		time.Sleep(2 * time.Hour)
		must.Fail(t, must.Err(s.requests(t.Context())), "read the answer of worker 7: ", "timeout")
	})
}
