package reachability

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/testkit/must"
)

// here is the stack of the test.
func here(do func() error) error { return do() }

func addresses(port uint16) []netip.AddrPort {
	return []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)}
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

func freePort(t *testing.T) uint16 {
	t.Helper()
	l := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort().Port()
}

func TestFirstAnswer(t *testing.T) {
	p := follow(t, 0, 0, nil)
	got := must.Get(p.Wait(t.Context()))(t)
	if got.Connect <= 0 || got.FirstByte < got.Connect || got.Connect < got.Sandbox || got.Own < 0 || got.Attempts < 1 {
		t.Errorf("times %+v", got)
	}
	client, server, err := p.Exchange(t.Context())
	must.Do(t, err)
	carried := driver.CarriedBy(client, server)
	for _, f := range []driver.Flow{carried.Forward, carried.Reverse} {
		if f.Payload != messages*messageSize || f.Wire < f.Payload || f.Segments < messages || f.Connections != 0 || f.Unbounded {
			t.Errorf("carried %+v", f)
		}
	}
}

// A server that listens later is reached by so much later: no answer can come before.
func TestServerLate(t *testing.T) {
	const late = 300 * time.Millisecond
	p := follow(t, 0, 0, func(p *Probe) { p.ServerLate(late) })
	got := must.Get(p.Wait(t.Context()))(t)
	if got.Connect-got.Sandbox < late.Seconds() || got.Attempts < 2 {
		t.Errorf("a server that listens %s late was reached in %+v", late, got)
	}
}

// A process that accepts connections before the server does has answered the SYN, not the request.
func TestAcceptedByAnother(t *testing.T) {
	at := freePort(t)
	front := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer front.Close()
	const closed = 3
	var accepted atomic.Int64
	go func() {
		for {
			c, err := front.Accept()
			if err != nil {
				return
			}
			if accepted.Add(1) <= closed {
				c.Close()
				continue
			}
			go func() {
				defer c.Close()
				to, err := net.Dial("tcp4", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), at).String())
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
	if got.Attempts <= closed || got.FirstByte <= got.Connect {
		t.Errorf("after %d connections that were closed: %+v", closed, got)
	}
	_, _, err := p.Exchange(t.Context())
	must.Do(t, err)
}

// What is no request of the probe is not answered.
func TestForeignConnection(t *testing.T) {
	at := freePort(t)
	p := follow(t, at, at, nil)
	must.Get(p.Wait(t.Context()))(t)
	c := must.Get(net.Dial("tcp4", addresses(at)[0].String()))(t)
	defer c.Close()
	must.Get(c.Write(make([]byte, requestSize)))(t)
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
	if _, err := nobody.Wait(t.Context()); err == nil {
		t.Error("a server that never listened was reached")
	}
}

func TestTimes(t *testing.T) {
	began := time.Now()
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	setUp := driver.SetupTimes{Begun: began, Exists: at(10), Both: at(20), Paired: at(21)}
	got := must.Get(times(setUp, seen{first: at(22), connect: at(30), answered: at(31), attempts: 9}))(t)
	must.Equal(t, Times{Sandbox: 0.01, Connect: 0.03, FirstByte: 0.031, Own: 0.002, Attempts: 9}, got)
	_, err := times(setUp, seen{first: at(22), connect: at(21), answered: at(31)})
	must.FailFor(t, "an answer before the request", err, "out of order")
}
