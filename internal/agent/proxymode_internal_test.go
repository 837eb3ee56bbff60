package agent

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// The mode is read from an answer of net/http, which kube-proxy uses; anything else is an error.
func TestProxyMode(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/proxyMode" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte("nftables"))
	}))
	defer s.Close()
	must.Equal(t, "nftables", must.Get(askProxy(t.Context(), s.Listener.Addr().String()))(t))
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	l.Close()
	if mode, err := askProxy(t.Context(), l.Addr().String()); err == nil {
		t.Errorf("without a kube-proxy its mode is %q", mode)
	}
	for _, answer := range []string{"", "HTTP/1.0 404 Not Found\r\n\r\niptables", "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n<script>", "iptables\n\niptables"} {
		if mode, err := readProxyMode(strings.NewReader(answer)); err == nil {
			t.Errorf("%q: mode %q", answer, mode)
		}
	}
}

func FuzzProxyMode(f *testing.F) {
	f.Add("HTTP/1.0 200 OK\r\nA: b\r\n\r\nipvs")
	f.Fuzz(func(t *testing.T, answer string) {
		mode, err := readProxyMode(strings.NewReader(answer))
		must.True(t, err != nil || mode != "" && strings.Trim(mode, "abcdefghijklmnopqrstuvwxyz") == "", "mode %q", mode)
	})
}
