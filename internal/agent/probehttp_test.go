package agent_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"sync"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
	"tare/internal/timelimit"
)

const host = "run.invalid"

// probeThrough probes a server through a handler at another port, to which it gives the server's address.
func probeThrough(t *testing.T, handler func(server *url.URL) http.Handler, wait time.Duration) (agent.Reachability, error) {
	t.Helper()
	client, server := begin(t), begin(t)
	fixed := nstest.FreePort(t)
	at := httptest.NewServer(handler(must.Get(url.Parse("http://" + fixed.String()))(t)))
	defer at.Close()
	return agent.CheckForwarded(t.Context(), client, server, host, fixed, netip.MustParseAddrPort(at.Listener.Addr().String()), wait)
}

// A request passes a proxy, to which it names its host, and both endpoints know what became of it.
func TestCheckForwarded(t *testing.T) {
	t.Parallel()
	hosts := make(chan string, 100)
	m := must.Get(probeThrough(t, func(server *url.URL) http.Handler {
		return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			hosts <- r.In.Host
			r.SetURL(server)
			r.SetXForwarded()
			r.Out.Header.Set("X-Forwarded-For", "192.0.2.7, "+r.Out.Header.Get("X-Forwarded-For"))
		}}
	}, timelimit.Scaled(20*time.Second)))(t)
	must.Equal(t, host, <-hosts)
	must.Equal(t, []any{false, true, 0, []string{"192.0.2.7", "127.0.0.1"}}, []any{m.SameConnection(), m.Arrived, m.Refused, m.Forwarded})

	client, server := begin(t), begin(t)
	for range 2 { // the port is free again
		fixed := nstest.FreePort(t)
		m := must.Get(agent.CheckForwarded(t.Context(), client, server, host, fixed, fixed, timelimit.Scaled(20*time.Second)))(t)
		must.Equal(t, []any{true, 0}, []any{m.SameConnection(), len(m.Forwarded)})
	}
}

// Answers of others are none, and the error says what they are.
func TestCheckForwardedByOthers(t *testing.T) {
	t.Parallel()
	for want, answer := range map[string]http.HandlerFunc{
		"a request for host run.invalid is answered with status 404 Not Found": http.NotFound,
		"a request for host run.invalid is answered with status 200 OK, and not by its server": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "a page")
		},
		"it does not speak HTTP/1": func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(c, "SSH-2.0-x\r\n")
				c.Close()
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel() // each waits until the end of its time
			m, err := probeThrough(t, func(*url.URL) http.Handler { return answer }, timelimit.Scaled(300*time.Millisecond))
			must.Fail(t, err, want)
			must.Equal(t, false, m.Arrived)
		})
	}
}

// The server answers no request of others, and counts them.
func TestCheckForwardedForeign(t *testing.T) {
	t.Parallel()
	var first sync.Once
	m := must.Get(probeThrough(t, func(server *url.URL) http.Handler {
		proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(server) }}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			first.Do(func() {
				if other, err := http.Get(server.String()); err == nil { //nolint:noctx // it is answered at once or not
					t.Errorf("a stranger was answered: %v", other)
					other.Body.Close()
				}
			})
			proxy.ServeHTTP(w, r)
		})
	}, timelimit.Scaled(20*time.Second)))(t)
	must.Equal(t, 1, m.Refused)
}
