package agent

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
	"tare/internal/traffic/admission"
	"tare/internal/traffic/socket"
)

// A search begins before its server listens, goes on past a stranger that answers otherwise, and ends with the server that has the token,
// whose port is closed then.
func TestSeek(t *testing.T) {
	t.Parallel()
	at := nstest.FreePort(t).String()
	ended := make(chan error, 1)
	go func() {
		stranger := must.Get(net.Listen("tcp", at))(t)
		conn := must.Get(stranger.Accept())(t)
		_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
		conn.Close()
		stranger.Close()
		ended <- answerOne(at, "token")
	}()
	ctx, cancel := context.WithTimeout(t.Context(), maxProbeTimeout()*10)
	defer cancel()
	s := must.Get(sought(ctx, wire.Probe{Address: at, Token: "token", Host: at}))(t)
	must.True(t, s.Connected > 0 && s.FirstByte >= s.Connected && s.Whole >= s.FirstByte && s.Attempts > 1, "%+v", s)
	must.Do(t, <-ended)
	_, err := net.Dial("tcp", at)
	must.Require(t, err != nil, "the port is still open")
}

// A connection that ends without a request, or in the middle of one, is given up at once: it keeps no port open and no CPU busy.
func TestAnswerNobody(t *testing.T) {
	t.Parallel()
	for _, sent := range []string{"", "GET / HTTP/1.1\r\nHost: x"} {
		gate := must.Get(admission.Listen("127.0.0.1:0", "", 1))(t)
		defer gate.Close()
		peer := must.Get(net.Dial("tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), gate.Port()).String()))(t)
		_ = must.Get(peer.Write([]byte(sent)))(t)
		must.Do(t, peer.Close())
		var conn admission.Stream
		for err := socket.ErrAgain; err != nil; {
			conn, _, err = gate.Next()
			must.Require(t, err == nil || admission.IsAgain(err), "%v", err)
		}
		answers := make(chan [2]bool)
		go func() {
			ours, answered := answerHTTPProbe("token")(t.Context(), conn)
			answers <- [2]bool{ours, answered}
		}()
		must.Equal(t, [2]bool{false, false}, <-answers)
	}
}

// A search without an answer says what the first attempt met.
func TestSeekInVain(t *testing.T) {
	t.Parallel()
	at := nstest.FreePort(t).String()
	reply := search(t.Context(), wire.Request{ID: 7, Wait: 2 * time.Second, Probe: &wire.Probe{Address: at, Token: "token"}}, "no answer from %s within %s", sought)
	if reply.ID != 7 || !strings.Contains(reply.Error, "no answer from "+at+" within 2s; the first attempt: ") || !strings.Contains(reply.Error, "refused") {
		t.Errorf("%+v", reply)
	}
	must.Equal(t, wire.Reply{ID: 8, Error: "a search without an address or a token"}, search(t.Context(), wire.Request{ID: 8, Probe: &wire.Probe{Address: at}}, "", sought))
}
