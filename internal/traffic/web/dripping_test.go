package web

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// A stranger that goes on sending, a byte now and then, keeps no server beyond the trial.
func TestDrippingPeer(t *testing.T) {
	loopback.Room(t)
	t.Setenv(timelimit.Variable, "1") // it waits for a limit
	// An HTTP/2 preface with settings and a long frame of an unknown kind, and a TLS record.
	preface := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00" + "\x00\x40\x00\xff\x00\x00\x00\x00\x00"
	tests := map[string]func(*testing.T){}
	for _, n := range implementations() {
		for _, c := range []struct{ name, kind, tls, first string }{
			{"http2", "http2", study.Off, preface}, {"http in TLS", "http", study.On, "\x16\x03\x01\x40\x00"}, {"http", "http", study.Off, "GET / HTTP/1.1\r\nX: "},
		} {
			tests[n.name+", "+c.name] = func(t *testing.T) {
				p := http2Params(c.kind, 1, 1, 0, 10)
				p.TLS = c.tls
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				at, served := loopback.Serve(ctx, t, loopback.KindOf(over(n), c.kind), p)
				peer := must.Get(net.Dial("tcp", at))(t)
				defer peer.Close()
				_ = must.Get(peer.Write([]byte(c.first)))(t)
				dripped := 0
				for ended := false; !ended; {
					select {
					case <-served:
						ended = true
					case <-time.After(20 * time.Millisecond):
						_, _ = peer.Write([]byte("x"))
						if dripped++; dripped == 10 {
							end(errors.New("the client has ended"))
						}
					}
				}
			}
		}
	}
	loopback.AtOnce(t, tests)
}
