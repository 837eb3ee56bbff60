package kubetest

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/linuxnet"
	"tare/internal/timelimit"
)

// connectProxy is an HTTP proxy on this machine's loopback that connects from within a network
// namespace. It is how a program outside of the nodes reaches the API server: by proxy-url in the
// kubeconfig, as through a bastion host.
type connectProxy struct {
	url   string
	bytes atomic.Int64 // that have passed, both ways
	mu    sync.Mutex
	live  map[net.Conn]bool
}

// cut closes all connections that pass the proxy.
func (p *connectProxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.live {
		_ = c.Close()
	}
}

func (p *connectProxy) keep(c net.Conn, live bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if live {
		p.live[c] = true
	} else {
		delete(p.live, c)
	}
}

// pass copies one direction of a connection until its end.
func (p *connectProxy) pass(to net.Conn, from io.Reader) {
	_, _ = io.Copy(io.MultiWriter(counting{p}, to), from) // its end is the connection's
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// counting counts what passes a proxy.
type counting struct{ of *connectProxy }

func (c counting) Write(b []byte) (int, error) {
	c.of.bytes.Add(int64(len(b)))
	return len(b), nil
}

// startProxy starts a proxy that ends with the test.
func startProxy(t testing.TB, ns *linuxnet.NS) *connectProxy {
	t.Helper()
	p := &connectProxy{live: map[net.Conn]bool{}}
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		var far net.Conn
		err := ns.Do(func() (err error) {
			var d net.Dialer
			ctx, cancel := context.WithTimeout(r.Context(), timelimit.Scaled(5*time.Second))
			defer cancel()
			far, err = d.DialContext(ctx, "tcp", r.Host)
			return err
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer far.Close()
		p.keep(far, true)
		defer p.keep(far, false)
		w.WriteHeader(http.StatusOK)
		near, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer near.Close()
		var wg sync.WaitGroup
		wg.Go(func() { p.pass(far, buffered) })
		wg.Go(func() { p.pass(near, far) })
		wg.Wait()
	})}
	done := make(chan struct{})
	go func() {
		_ = s.Serve(l)
		close(done)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	p.url = "http://" + l.Addr().String()
	return p
}
