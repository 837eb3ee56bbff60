package reachability

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/driver"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// here is the stack of the test.
func here(do func() error) error { return do() }

func addresses(port uint16) []netip.AddrPort {
	return []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr("127.0.0.83"), port)}
}

// follow is a probe of a set-up of two processes of this host.
func follow(t *testing.T, listen, dial uint16, change func(*Probe)) *Probe {
	t.Helper()
	p := Begin(t.Context(), false)
	t.Cleanup(p.Close)
	if change != nil {
		change(p)
	}
	p.Clock.LabBegins()
	p.Clock.Pair(here, here, addresses(listen), addresses(dial))
	return p
}

// freePort is a port that nothing listens on. No other program of this machine takes it meanwhile: theirs are at other addresses.
func freePort(t *testing.T) uint16 {
	t.Helper()
	l := must.Get(net.Listen("tcp4", "127.0.0.83:0"))(t)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort().Port()
}

func TestFirstAnswer(t *testing.T) {
	p := follow(t, 0, 0, nil)
	got := must.Get(p.Wait(t.Context()))(t)
	must.True(t, got.Connect > 0 && got.FirstByte >= got.Connect && got.First200 >= got.FirstByte && got.Connect >= got.Sandbox && got.Own >= 0 && got.Attempts >= 1, "times %+v", got)
	client, server := must.Get2(p.Exchange(t.Context()))(t)
	carried := driver.CarriedBy(client, server)
	for _, f := range []driver.Flow{carried.Forward, carried.Reverse} {
		must.True(t, f.Payload == messages*messageSize && f.Wire >= f.Payload && f.Segments >= messages && f.Connections == 0 && !f.Unbounded, "carried %+v", f)
	}
}

// A server that listens later is reached by so much later: no answer can come before.
func TestServerLate(t *testing.T) {
	const late = 300 * time.Millisecond
	p := follow(t, 0, 0, func(p *Probe) { p.ServerLate(late) })
	got := must.Get(p.Wait(t.Context()))(t)
	must.True(t, got.Connect-got.Sandbox >= late.Seconds() && got.Attempts >= 2, "a server that listens %s late was reached in %+v", late, got)
}

// A process that accepts connections before the server does has answered the SYN, not the request. What is left of attempts without an
// answer may still be sent beside the exchange, and is in its upper bounds.
func TestAcceptedByAnother(t *testing.T) {
	at := freePort(t)
	front := must.Get(net.Listen("tcp4", "127.0.0.83:0"))(t)
	defer front.Close()
	const closed, kept = 3, 100
	var accepted atomic.Int64
	go func() {
		for {
			c, err := front.Accept()
			if err != nil {
				return
			}
			n := accepted.Add(1)
			if n <= closed {
				c.Close()
				continue
			}
			if n <= closed+kept {
				defer c.Close()
				continue
			}
			go func() {
				defer c.Close()
				to, err := net.Dial("tcp4", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.83"), at).String())
				if err != nil {
					return
				}
				defer to.Close()
				go func() { _, _ = io.Copy(to, c) }()
				_, _ = io.Copy(c, to)
			}()
		}
	}()
	p := follow(t, at, front.Addr().(*net.TCPAddr).AddrPort().Port(), nil)
	got := must.Get(p.Wait(t.Context()))(t)
	must.True(t, got.Attempts > closed+kept && got.FirstByte > got.Connect, "after %d connections that were closed, %d that were kept: %+v", closed, kept, got)
	client, server := must.Get2(p.Exchange(t.Context()))(t)
	for _, r := range []traffic.Report{client, server} {
		must.True(t, r.TCP.Segments >= messages+kept*otherSegments && r.TCP.Wire >= uint64(r.Sent)+kept*uint64(len(response(tag{}, 0))) && r.Sent > messages*messageSize, "carried %+v", r)
	}
}

// What is no request of the probe is not answered.
func TestForeignConnection(t *testing.T) {
	at := freePort(t)
	p := follow(t, at, at, nil)
	must.Get(p.Wait(t.Context()))(t)
	c := must.Get(net.Dial("tcp4", addresses(at)[0].String()))(t)
	defer c.Close()
	must.Get(c.Write([]byte(request(tag{}, 1))))(t)
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("a request without the tag was answered: %d bytes, %v", n, err)
	}
}

// The port is free when the probe has ended.
func TestPortFreed(t *testing.T) {
	at := freePort(t)
	for range 2 {
		p := follow(t, at, at, nil)
		must.Get(p.Wait(t.Context()))(t)
		p.Close()
	}
	must.Get(net.Listen("tcp4", addresses(at)[0].String()))(t).Close()
}

func TestNotReached(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := Begin(ctx, false)
	defer p.Close()
	_, err := p.Wait(ctx)
	must.FailFor(t, "without a pair", err, "has not told when its endpoints existed")
	p.Clock.LabBegins()
	p.Clock.Pair(nil, here, addresses(0), addresses(0))
	_, err = p.Wait(ctx)
	must.FailFor(t, "an endpoint in a stack of its own", err, "network stacks of their own")

	nobody := Begin(ctx, false)
	defer nobody.Close()
	nobody.ServerLate(time.Hour)
	nobody.Clock.LabBegins()
	nobody.Clock.Pair(here, here, addresses(0), addresses(0))
	cancel()
	must.FailFor(t, "a server that never listened was reached", must.Err(nobody.Wait(t.Context())))
}

func TestTimes(t *testing.T) {
	began := time.Now()
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	setUp := driver.SetupTimes{Begun: began, Exists: at(10), Both: at(20), Paired: at(21)}
	got := must.Get(times(setUp, seen{first: at(22), connect: at(30), answered: at(31), whole: at(33), attempts: 9}))(t)
	must.Equal(t, Times{Sandbox: 0.01, Connect: 0.03, FirstByte: 0.031, First200: 0.033, Own: 0.002, Attempts: 9}, got)
	for what, s := range map[string]seen{
		"an answer before the request":     {first: at(22), connect: at(21), answered: at(31), whole: at(31)},
		"a response before its first byte": {first: at(22), connect: at(30), answered: at(31), whole: at(30)},
	} {
		_, err := times(setUp, s)
		must.FailFor(t, what, err, "out of order")
	}
}

// Requests and responses are those of HTTP, by the standard library's parser, and a request names its attempt.
func TestMessages(t *testing.T) {
	own := tag{0, 1, 2, 3, 4, 5, 6, 255}
	for _, n := range []uint64{0, 1, 77, 1<<64 - 1} {
		text := request(own, n)
		q := must.Get(http.ReadRequest(bufio.NewReader(strings.NewReader(text))))(t)
		a := must.Get(http.ReadResponse(bufio.NewReader(strings.NewReader(response(own, n))), q))(t)
		defer a.Body.Close()
		must.Equal(t, []any{http.StatusOK, q.URL.Path}, []any{a.StatusCode, string(must.Get(io.ReadAll(a.Body))(t))})
		got, ours := attemptOf([]byte(text), own)
		must.Equal(t, []any{n, true, len(request(own, 0))}, []any{got, ours, len(text)})
		for _, other := range []string{request(tag{}, n), "X" + text[1:], strings.ToUpper(text), text[:len(text)-1]} {
			if _, ours := attemptOf([]byte(other), own); ours {
				t.Errorf("%q has the tag", other)
			}
		}
	}
}

// What a server answers without the status, or of another attempt, is no response of this set-up, nor is half of it.
func TestOtherResponses(t *testing.T) {
	own := tag{9}
	for text, pending := range map[string]bool{
		response(own, 4)[:20]: true, response(tag{8}, 4): false, response(own, 5): false, "HTTP/1.1 503 Service Unavailable\r\n\r\n": false,
		strings.Replace(response(own, 4), "200", "500", 1): false,
	} {
		ends := must.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0))(t)
		must.Get(unix.Write(ends[1], []byte(text)))(t)
		c, a := connector{tag: own}, &attempt{fd: ends[0], number: 4, asked: true}
		must.EqualFor(t, text, []any{pending, 0}, []any{c.proceed(a, time.Now()), c.winner})
		if pending {
			must.Get(unix.Write(ends[1], []byte(response(own, 4)[20:])))(t)
			must.Equal(t, []any{false, ends[0], uint64(4)}, []any{c.proceed(a, time.Now()), c.winner, c.won})
		}
		must.Do(t, errors.Join(unix.Close(ends[0]), unix.Close(ends[1])))
	}
}
