package relay_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tare/internal/driver/proxy/relay"
	"tare/internal/testkit/must"
)

// want is what two proxies negotiate on a CPU with instructions for AES.
var want = relay.State{Version: "TLS 1.3", Suite: "TLS_AES_128_GCM_SHA256", Curve: "X25519", Mutual: true}

// deadline limits how long a test waits for what must happen.
const deadline = 30 * time.Second

// pair is two proxies in front of a server.
type pair struct {
	client, server *relay.Relay
	dial           string       // the address of the client's proxy
	behind         net.Listener // the server
}

// both runs a test in the clear and with TLS.
func both(t *testing.T, test func(*testing.T, pair)) {
	for _, sealed := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "tls"}[sealed], func(t *testing.T) {
			var near, far *relay.Credentials
			if sealed {
				near, far = issue(t)
			}
			test(t, start(t, near, far))
		})
	}
}

func issue(t *testing.T) (client, server *relay.Credentials) {
	t.Helper()
	client, server, err := relay.Issue(time.Now())
	must.Do(t, err)
	return client, server
}

func start(t *testing.T, near, far *relay.Credentials) pair {
	t.Helper()
	behind := listen(t)
	p := pair{behind: behind}
	var between netip.AddrPort
	p.server, between = proxy(t, relay.Config{Side: relay.Server, TLS: far}, addr(behind))
	var at netip.AddrPort
	p.client, at = proxy(t, relay.Config{Side: relay.Client, TLS: near}, between)
	p.dial = at.String()
	return p
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	return l
}

func addr(l net.Listener) netip.AddrPort { return netip.MustParseAddrPort(l.Addr().String()) }

// proxy starts a proxy on a free port.
func proxy(t *testing.T, cfg relay.Config, to netip.AddrPort) (*relay.Relay, netip.AddrPort) {
	t.Helper()
	for range 20 { // another program may take the port meanwhile
		l := listen(t)
		at := addr(l)
		l.Close()
		cfg.Routes = []relay.Route{{Listen: at, Dial: to}}
		r, err := relay.Start(cfg)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		must.Do(t, err)
		t.Cleanup(func() { must.Do(t, r.Close()) })
		return r, at
	}
	t.Fatal("no free port")
	return nil, netip.AddrPort{}
}

// connect returns client and server of a connection through the proxies.
func (p pair) connect(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	c := must.Get(net.Dial("tcp", p.dial))(t)
	s := must.Get(p.behind.Accept())(t)
	for _, conn := range []net.Conn{c, s} {
		t.Cleanup(func() { conn.Close() })
		must.Do(t, conn.SetDeadline(time.Now().Add(deadline)))
	}
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

// settled waits until the proxies have no connection, and returns their counters.
func (p pair) settled(t *testing.T) (client, server relay.Counters) {
	t.Helper()
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(time.Millisecond) {
		client, server = p.client.Counters(), p.server.Counters()
		if client.Open == 0 && server.Open == 0 {
			return client, server
		}
	}
	t.Fatalf("connections are still open: %+v, %+v", client, server)
	return client, server
}

// All bytes arrive both ways, each proxy counts them, and one direction can end before the
// other.
func TestForwards(t *testing.T) {
	both(t, func(t *testing.T, p pair) {
		there, back := random(t, 3<<20+7), random(t, 100_001)
		c, s := p.connect(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := c.Write(there)
			if err == nil {
				err = c.CloseWrite()
			}
			if err != nil {
				t.Error(err)
			}
		})
		got, err := io.ReadAll(s)
		wg.Wait()
		if err != nil || !bytes.Equal(got, there) {
			t.Fatalf("the server received %d bytes of %d: %v", len(got), len(there), err)
		}
		// The client has ended its direction; the other is still open.
		must.Get(s.Write(back))(t)
		s.Close()
		if got, err = io.ReadAll(c); err != nil || !bytes.Equal(got, back) {
			t.Fatalf("the client received %d bytes of %d: %v", len(got), len(back), err)
		}
		near, far := p.settled(t)
		for _, k := range []relay.Counters{near, far} {
			if k.Connections != 1 || k.Failed != 0 || k.Forward != uint64(len(there)) || k.Reverse != uint64(len(back)) {
				t.Errorf("a proxy counts %+v", k)
			}
			if err := k.Check(want); err != nil {
				t.Error(err)
			}
		}
		if !strings.HasSuffix(t.Name(), "tls") {
			if near.Handshakes+near.Records+near.Sealed+near.Unsealed != 0 {
				t.Errorf("in the clear a proxy counts %+v", near)
			}
			return
		}
		if near.Sealed != near.Forward || far.Sealed != far.Reverse || near.Handshakes != 1 || far.Handshakes != 1 {
			t.Errorf("the records hold other than what was forwarded: %+v, %+v", near, far)
		}
		if len(near.States) != 1 || near.States[0] != want || len(far.States) != 1 || far.States[0] != want {
			t.Errorf("negotiated: %v, %v, want %v", near.States, far.States, want)
		}
	})
}

// A reset of either endpoint reaches the other as one: it is never taken for the end of the data.
func TestResetIsPassedOn(t *testing.T) {
	both(t, func(t *testing.T, p pair) {
		for _, client := range []bool{true, false} {
			c, s := p.connect(t)
			from, to := c, s
			if !client {
				from, to = s, c
			}
			must.Get(from.Write([]byte("x")))(t)
			must.Get(io.ReadFull(to, make([]byte, 1)))(t)
			must.Do(t, errors.Join(from.SetLinger(0), from.Close()))
			if _, err := to.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("after a reset by the client (%t) the other reads %v", client, err)
			}
		}
		p.settled(t)
	})
}

// If the receiver does not read, the sender is stopped: the proxies hold a bounded part.
func TestBackPressure(t *testing.T) {
	both(t, func(t *testing.T, p pair) {
		c, s := p.connect(t)
		const most = 256 << 20 // more than all socket buffers on the way
		block, sent := make([]byte, 1<<20), 0
		for sent < most {
			must.Do(t, c.SetWriteDeadline(time.Now().Add(500*time.Millisecond)))
			n, err := c.Write(block)
			sent += n
			if err != nil {
				break
			}
		}
		if sent >= most {
			t.Fatalf("the proxies took %d bytes that nobody read", sent)
		}
		must.Do(t, c.CloseWrite())
		if n, err := io.Copy(io.Discard, s); err != nil || n != int64(sent) {
			t.Errorf("%d bytes arrived of %d: %v", n, sent, err)
		}
	})
}

// Many short connections at once leave nothing behind.
func TestShortConnections(t *testing.T) {
	both(t, func(t *testing.T, p pair) {
		const workers, each = 20, 25
		go func() {
			for {
				s, err := p.behind.Accept()
				if err != nil {
					return
				}
				go func() {
					defer s.Close()
					_, _ = io.Copy(s, s)
				}()
			}
		}()
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range each {
					if err := exchange(p.dial); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		near, far := p.settled(t)
		for _, k := range []relay.Counters{near, far} {
			if k.Connections != workers*each || k.Failed != 0 || k.Forward != uint64(len(ping)*workers*each) || k.Reverse != k.Forward {
				t.Errorf("a proxy counts %+v", k)
			}
		}
	})
}

// ping is longer than the header of a TLS record.
const ping = "ping ping ping ping"

func exchange(at string) error {
	c, err := net.Dial("tcp", at)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(deadline)); err != nil {
		return err
	}
	if _, err := c.Write([]byte(ping)); err != nil {
		return err
	}
	_, err = io.ReadFull(c, make([]byte, len(ping)))
	return err
}

// A proxy rejects a peer without a certificate of its run's authority; the client's
// connection is reset, and the reason is kept.
func TestRejects(t *testing.T) {
	near, far := issue(t)
	other, foreign := issue(t)
	for name, tt := range map[string]struct{ near, far *relay.Credentials }{
		"a client of another run":    {other, far},
		"a server of another run":    {near, foreign},
		"a client in the clear":      {nil, far},
		"a server in the clear":      {near, nil},
		"the server's as a client":   {far, far},
		"a server with the client's": {near, near},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, tt.near, tt.far)
			go func() { // a server in the clear would pass its client on
				for {
					s, err := p.behind.Accept()
					if err != nil {
						return
					}
					s.Close()
				}
			}()
			if exchange(p.dial) == nil {
				t.Error("the exchange succeeded")
			}
			near, far := p.settled(t)
			if near.Failed+far.Failed == 0 || near.Reason+far.Reason == "" {
				t.Errorf("no failure is counted: %+v, %+v", near, far)
			}
		})
	}
}

// A server that is not there is a reset for the client, and is counted.
func TestNoServer(t *testing.T) {
	both(t, func(t *testing.T, p pair) {
		p.behind.Close()
		if exchange(p.dial) == nil {
			t.Error("the exchange succeeded")
		}
		if _, far := p.settled(t); far.Failed != 1 || !strings.Contains(far.Reason, "refused") {
			t.Errorf("the server's proxy counts %+v", far)
		}
	})
}

// Close ends connections that are open, and the goroutines.
func TestClose(t *testing.T) {
	both(t, func(t *testing.T, p pair) {
		c, _ := p.connect(t)
		for range 2 {
			must.Do(t, errors.Join(p.client.Close(), p.server.Close()))
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the client reads %v", err)
		}
		if p.client.Counters().Open != 0 {
			t.Error("a connection is open")
		}
	})
}

// Flush ends connections that are open, and new ones are forwarded.
func TestFlush(t *testing.T) {
	both(t, func(t *testing.T, p pair) {
		c, _ := p.connect(t)
		must.Do(t, errors.Join(p.client.Flush(), p.server.Flush()))
		if near, far := p.client.Counters(), p.server.Counters(); near.Open != 0 || far.Open != 0 {
			t.Errorf("%d and %d connections are open", near.Open, far.Open)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the client reads %v", err)
		}
		c, s := p.connect(t)
		must.Get(c.Write([]byte(ping)))(t)
		must.Get(io.ReadFull(s, make([]byte, len(ping))))(t)
	})
}

// Bad configurations are rejected without a part of a key in the text.
func TestBadConfig(t *testing.T) {
	near, _ := issue(t)
	bad := *near
	bad.Private = append([]byte("SECRET"), near.Private...)
	taken := listen(t)
	for name, tt := range map[string]struct {
		cfg  relay.Config
		want string
	}{
		"no side":     {relay.Config{}, "no side"},
		"a bad key":   {relay.Config{Side: relay.Client, TLS: &bad}, "not a certificate and its key"},
		"a port used": {relay.Config{Side: relay.Client, Routes: []relay.Route{{Listen: addr(taken)}}}, "address already in use"},
	} {
		_, err := relay.Start(tt.cfg)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(format, *near); strings.Contains(got, fmt.Sprint(near.Private[0])+" ") || strings.Contains(got, "0x") {
			t.Errorf("%s prints %s", format, got)
		}
	}
}

// Check names what does not fit.
func TestCheck(t *testing.T) {
	good := relay.Counters{Handshakes: 2, States: []relay.State{want}, Records: 2, Sealed: 32 << 10}
	weak := want
	weak.Mutual = false
	for name, tt := range map[string]struct {
		change func(*relay.Counters)
		want   string
	}{
		"good":          {func(*relay.Counters) {}, ""},
		"in the clear":  {func(c *relay.Counters) { c.Unsealed = 1 }, "1 bytes crossed the underlay outside of encrypted TLS records"},
		"not mutual":    {func(c *relay.Counters) { c.States = append(c.States, weak) }, "without a verified certificate, not as TLS 1.3"},
		"large records": {func(c *relay.Counters) { c.Sealed++ }, "32769 bytes were in 2 TLS records"},
	} {
		c := good
		tt.change(&c)
		err := c.Check(want)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func random(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	must.Get(rand.Read(b))(t)
	return b
}
