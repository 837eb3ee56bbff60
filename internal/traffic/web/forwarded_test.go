package web

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// Requests of every kind name the trial's host, and the server counts those that a proxy forwarded: all or none.
func TestForwardedRequests(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	const host = "trial.invalid"
	for i, kind := range []string{"http", "http2", "grpc"} {
		for j, through := range []bool{true, false} {
			for _, on := range covering(2*i + j) {
				p := loopback.Params(kind)
				p.Host, p.RequestSize, p.ResponseSize, p.Duration = host, 700, 3000, 30*time.Millisecond
				p.Flows, p.Streams = 1, 2
				c, s, others := forwarded(must.Named(t, on.String()+" "+kind), on, p, through)
				want := int64(0)
				if through {
					want = s.Messages
				}
				must.EqualFor(t, on.String()+" "+kind, []int64{c.Messages, want, 0, 0}, []int64{s.Messages, s.Forwarded, c.Failed, others})
			}
		}
	}
}

// forwarded runs a trial, through a proxy that forwards requests to it or not, for as long as it takes until there
// are requests. others is how many named another host.
func forwarded(t testing.TB, on loopback.Pairing[path], p traffic.Params, through bool) (c, s traffic.Report, others int64) {
	t.Helper()
	for c.Messages == 0 {
		p.Duration *= 2
		address, stop := httpServing(t, on.Server, p)
		var strange atomic.Int64
		var protocols http.Protocols
		protocols.SetHTTP1(p.Kind == "http")
		protocols.SetUnencryptedHTTP2(p.Kind != "http")
		transport := &http.Transport{Protocols: &protocols}
		target := must.Get(url.Parse("http://" + address))(t)
		proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
			if r.In.Host != p.Host {
				strange.Add(1)
			}
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		}})
		proxy.Config.Protocols = &protocols
		proxy.Start()
		p.Address = address
		if through {
			p.Address = proxy.Listener.Addr().String()
		}
		c = must.Get(loopback.KindOf(over(on.Client), p.Kind).Dial(t.Context(), p, nil))(t)
		s = stop()
		transport.CloseIdleConnections()
		proxy.Close()
		others = strange.Load()
	}
	return c, s, others
}
