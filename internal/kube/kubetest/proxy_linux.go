package kubetest

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"tare/internal/linuxnet"
)

// connectProxy serves an HTTP proxy on this machine's loopback that connects from within a
// network namespace, and returns its URL. It is how a program outside of the nodes reaches the
// API server: by proxy-url in the kubeconfig, as through a bastion host. It ends with the test.
func connectProxy(t testing.TB, ns *linuxnet.NS) string {
	t.Helper()
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
			ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
			defer cancel()
			far, err = d.DialContext(ctx, "tcp", r.Host)
			return err
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer far.Close()
		w.WriteHeader(http.StatusOK)
		near, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer near.Close()
		var wg sync.WaitGroup
		pass := func(to net.Conn, from io.Reader) {
			_, _ = io.Copy(to, from) // its end is the connection's
			if half, ok := to.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
		}
		wg.Go(func() { pass(far, buffered) })
		wg.Go(func() { pass(near, far) })
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
	return "http://" + l.Addr().String()
}
