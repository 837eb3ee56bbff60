// Package relay forwards TCP connections between two proxies of a service mesh: each accepts
// connections and dials another for each of them. Between the two proxies the bytes cross in
// the clear or inside mutual TLS 1.3.
package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"tare/internal/timelimit"
)

// Side is the side of the connection between the two proxies on which a proxy is.
type Side string

// The sides.
const (
	Client Side = "client" // it dials the other proxy
	Server Side = "server" // it accepts from the other proxy
)

// Route is an address at which a proxy listens, and the address that it dials for each
// connection.
type Route struct {
	Listen netip.AddrPort `json:"listen"`
	Dial   netip.AddrPort `json:"dial"`
}

// Config is the configuration of a proxy.
type Config struct {
	Side   Side         `json:"side"`
	Routes []Route      `json:"routes"`
	TLS    *Credentials `json:"tls,omitempty"` // nil: in the clear
}

// The bounds of a proxy's memory: at most maxConnections connections, each with one buffer of
// chunk bytes for each direction. Further connections wait in the kernel's backlog.
const (
	maxConnections = 8192
	chunk          = 32 << 10
)

// openTimeout limits how long dialling and the handshake of a connection may take.
func openTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// Relay is a proxy that runs.
type Relay struct {
	side      Side
	security  *security // nil: in the clear
	listeners []net.Listener
	slots     chan struct{}
	buffers   sync.Pool
	counts    counts

	congestion string // of its sockets

	mu    sync.Mutex
	conns map[*net.TCPConn]bool // open now
	ended bool
	wg    sync.WaitGroup
}

// Start listens on all routes and starts to forward.
func Start(cfg Config) (*Relay, error) {
	r := &Relay{side: cfg.Side, slots: make(chan struct{}, maxConnections), conns: map[*net.TCPConn]bool{}}
	r.buffers.New = func() any { b := make([]byte, chunk); return &b }
	if cfg.Side != Client && cfg.Side != Server {
		return nil, fmt.Errorf("the proxy has no side %q", cfg.Side)
	}
	if cfg.TLS != nil {
		var err error
		if r.security, err = cfg.TLS.load(); err != nil {
			return nil, err
		}
	}
	listen := net.ListenConfig{KeepAlive: -1, Control: control}
	listen.SetMultipathTCP(false) // the other endpoints of a lab use plain TCP
	for _, to := range cfg.Routes {
		l, err := listen.Listen(context.Background(), "tcp", to.Listen.String())
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.listeners = append(r.listeners, l)
		if r.congestion, err = readCongestion(l.(*net.TCPListener)); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	for i, l := range r.listeners {
		r.wg.Go(func() { r.accept(l, cfg.Routes[i].Dial) })
	}
	return r, nil
}

// Close ends all connections and waits until they have ended. It may be called again.
func (r *Relay) Close() error {
	var errs []error
	r.mu.Lock()
	r.ended = true
	for _, l := range r.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	for c := range r.conns {
		reset(c)
	}
	r.mu.Unlock()
	r.wg.Wait()
	return errors.Join(errs...)
}

// flushTimeout limits how long connections may take to end after a reset.
func flushTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }

// Flush resets all connections and waits until they have ended, so that nothing of them is
// counted later.
func (r *Relay) Flush() error {
	for end := time.Now().Add(flushTimeout()); ; time.Sleep(time.Millisecond) {
		r.mu.Lock()
		for c := range r.conns {
			reset(c)
		}
		r.mu.Unlock()
		open := r.counts.open.Load()
		if open == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d connections have not ended %v after their reset", open, flushTimeout())
		}
	}
}

// accept forwards the connections of a listener until it is closed.
func (r *Relay) accept(l net.Listener, to netip.AddrPort) {
	for {
		r.slots <- struct{}{}
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			<-r.slots
			return
		}
		if err != nil { // such as too many open files; another connection may end
			<-r.slots
			r.counts.fail(err)
			time.Sleep(time.Millisecond)
			continue
		}
		r.wg.Go(func() {
			defer func() { <-r.slots }()
			r.serve(c.(*net.TCPConn), to)
		})
	}
}

// track adds a connection to those that Close ends, and reports whether the relay still runs.
func (r *Relay) track(c *net.TCPConn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		reset(c)
		return false
	}
	r.conns[c] = true
	return true
}

func (r *Relay) untrack(c *net.TCPConn) {
	r.mu.Lock()
	delete(r.conns, c)
	r.mu.Unlock()
	c.Close()
}

// serve forwards one connection.
func (r *Relay) serve(accepted *net.TCPConn, to netip.AddrPort) {
	r.counts.connections.Add(1)
	r.counts.open.Add(1)
	defer r.counts.open.Add(-1)
	if !r.track(accepted) {
		return
	}
	defer r.untrack(accepted)
	err := r.forward(accepted, to)
	if err != nil {
		reset(accepted)
		r.counts.fail(err)
	}
}

// halfConn is a connection of which one direction can be closed.
type halfConn interface {
	io.ReadWriter
	CloseWrite() error
}

// forward opens the second connection and copies both ways until both have ended. An error
// means that the connection could not be opened. The end of one direction is passed on and
// leaves the other open; a connection that is reset resets the other.
func (r *Relay) forward(accepted *net.TCPConn, to netip.AddrPort) error {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout())
	defer cancel()
	from := halfConn(accepted)
	var err error
	if r.side == Server && r.security != nil { // before the server is told of a connection
		if from, err = r.secure(ctx, accepted); err != nil {
			return fmt.Errorf("accept the connection of %s: %w", accepted.RemoteAddr(), err)
		}
	}
	dialer := net.Dialer{KeepAlive: -1, Control: control}
	dialer.SetMultipathTCP(false)
	dialled, err := dialer.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return err
	}
	tcp := dialled.(*net.TCPConn)
	if !r.track(tcp) {
		return net.ErrClosed
	}
	defer r.untrack(tcp)
	into := halfConn(tcp)
	if r.side == Client && r.security != nil {
		if into, err = r.secure(ctx, tcp); err != nil {
			reset(tcp)
			return fmt.Errorf("connect to the proxy at %s: %w", to, err)
		}
	}
	var both sync.WaitGroup
	abort := func() {
		reset(accepted)
		reset(tcp)
	}
	both.Go(func() { r.copy(into, from, &r.counts.forward, abort) })
	r.copy(from, into, &r.counts.reverse, abort)
	both.Wait()
	return nil
}

// copy copies one direction and passes its end on.
func (r *Relay) copy(to, from halfConn, n *counter, abort func()) {
	buf := r.buffers.Get().(*[]byte)
	defer r.buffers.Put(buf)
	for {
		got, err := from.Read(*buf)
		if got > 0 {
			n.Add(uint64(got)) // before it can arrive
			if _, err := to.Write((*buf)[:got]); err != nil {
				abort()
				return
			}
		}
		if errors.Is(err, io.EOF) {
			if to.CloseWrite() != nil {
				abort()
			}
			return
		}
		if err != nil {
			abort()
			return
		}
	}
}

// reset closes a connection with a reset, so that its peer does not take the end for that of
// the data.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // it may be closed already
	_ = c.Close()
}
