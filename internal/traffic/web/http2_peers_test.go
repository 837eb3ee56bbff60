package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
	"tare/internal/traffic"
	"tare/internal/traffic/http1"
	"tare/internal/traffic/http2"
	"tare/internal/traffic/secure"
)

// only2 is HTTP/2 with prior knowledge, or in TLS.
func only2() *http.Protocols {
	p := &http.Protocols{}
	p.SetUnencryptedHTTP2(true)
	p.SetHTTP2(true)
	return p
}

// trial2 is a trial of HTTP/2 or gRPC.
func trial2(t *testing.T, p traffic.Params) httpTrial {
	t.Helper()
	return must.Get(http2Requests{grpc: p.Kind == "grpc"}.trial(p))(t)
}

// theirs2 is a server of net/http in HTTP/2, in TLS if the trial is, that answers as a trial's does, unless change does.
func theirs2(t *testing.T, p traffic.Params, change func(http.ResponseWriter, *http.Request) (done bool)) (address string) {
	t.Helper()
	trial := trial2(t, p)
	prefix, size := trial.framed(p.ResponseSize)
	_, asked := trial.framed(p.RequestSize)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if change(w, r) {
			return
		}
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n != int64(asked) || r.Header.Get(http1.TagField) != trial.ask || r.Method != map[bool]string{false: "GET", true: "POST"}[asked > 0] || r.ProtoMajor != 2 {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.Header().Set(http1.TagField, trial.answer)
		if trial.grpc {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Trailer", "Grpc-Status")
			w.Header().Set("Grpc-Status", "0")
		}
		_, _ = w.Write(append(prefix, make([]byte, size-len(prefix))...))
	}))
	s.Config.Protocols, s.Config.ErrorLog = only2(), log.New(io.Discard, "", 0)
	if p.TLS == study.On {
		s.EnableHTTP2, s.TLS = true, &tls.Config{Certificates: []tls.Certificate{certificateOf(t, p)}}
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// The client is right about net/http's server, with bodies larger than its windows, with trailers and interim responses, and in TLS.
func TestHTTP2ClientOfNetHTTP(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	interim := func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusEarlyHints)
		return false
	}
	for _, n := range implementations() {
		for _, c := range []struct {
			kind, tls         string
			request, response quantity.Size
		}{{"http2", study.Off, 0, 10}, {"http2", study.On, 3 << 20, 3 << 20}, {"grpc", study.Off, 3 << 20, 3 << 20}, {"grpc", study.On, 0, 10}} {
			p := http2Params(c.kind, 2, 5, c.request, c.response)
			p.Duration, p.TLS = 100*time.Millisecond, c.tls
			p.Address = theirs2(t, p, interim)
			name := fmt.Sprintf("%s, %+v", n.name, c)
			got := must.Get(loopback.KindOf(over(n), c.kind).Dial(t.Context(), p, nil))(must.Named(t, name))
			must.True(t, got.Messages != 0 && got.Window.Failed <= 0 && got.Connections == 2, "%s: %d messages, %d connections, %v", name, got.Messages, got.Connections, got.Notes)
		}
	}
}

// The server answers net/http's client, in the clear and in TLS, several requests at once, and refuses who does not show the trial's tag.
func TestHTTP2ServerOfNetHTTP(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		for _, secured := range []string{study.Off, study.On} {
			p := http2Params("http2", 1, 1, 300_000, 3<<20)
			p.TLS = secured
			trial := trial2(t, p)
			address, stop := httpServing(t, n, p)
			fresh := func() *http.Transport {
				return &http.Transport{Protocols: only2(), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
			}
			transport := fresh()
			ask := func(tag string, body string) (*http.Response, int) {
				q := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, map[string]string{study.Off: "http", study.On: "https"}[secured]+"://"+address+"/any?x", io.MultiReader(strings.NewReader(body))))(t)
				q.Header.Set(http1.TagField, tag)
				r := must.Get(transport.RoundTrip(q))(t)
				defer r.Body.Close()
				return r, len(must.Get(io.ReadAll(r.Body))(t))
			}
			answers := make(chan string)
			r, _ := ask(trial.ask, "") //nolint:bodyclose // ask closes it
			must.Equal(t, http.StatusOK, r.StatusCode)
			for i := range 20 {
				go func() {
					r, size := ask(trial.ask, strings.Repeat("x", 15_000*i)) //nolint:bodyclose // ask closes it
					answers <- fmt.Sprint(r.StatusCode, size, r.ProtoMajor, r.Header.Get(http1.TagField) == trial.answer)
				}()
			}
			for range 20 {
				must.Equal(t, fmt.Sprint(200, 3<<20, 2, true), <-answers)
			}
			for _, tag := range []string{"", "0123", trial.answer} {
				r, _ := ask(tag, "x") //nolint:bodyclose // ask closes it
				must.Equal(t, http.StatusForbidden, r.StatusCode)
				// The server ends the connection, which net/http could use again before it knows.
				transport.CloseIdleConnections()
				transport = fresh()
			}
			if r := stop(); r.Messages != 21 || r.Refused != 2 || r.Connections != 1 {
				t.Errorf("%s, TLS %s: %d messages, %d refused, %d connections", n.name, secured, r.Messages, r.Refused, r.Connections)
			}
		}
	}
}

// The server answers curl, whose version 7.88 cannot use a connection in the clear twice.
func TestHTTP2ServerOfCurl(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		testneed.Missing(t, testneed.Web, err)
	}
	for _, n := range implementations() {
		p := http2Params("http2", 1, 1, 5000, 3000)
		trial := trial2(t, p)
		address, stop := httpServing(t, n, p)
		for _, args := range [][]string{{}, {"-d", strings.Repeat("x", 5000)}} {
			args = append([]string{"-sSf", "--http2-prior-knowledge", "--noproxy", "*", "-m", "20", "-o", "/dev/null", "-w", "%{http_code} %{http_version} %{size_download} %{num_connects}\n", "-H", http1.TagField + ": " + trial.ask, "http://" + address}, args...)
			out, err := exec.CommandContext(t.Context(), curl, args...).CombinedOutput()
			if want := "200 2 3000 1\n"; err != nil || string(out) != want {
				t.Errorf("%s: curl %v: %v, %s", n.name, args, err, out)
			}
		}
		if r := stop(); r.Messages != 2 || r.Refused != 0 {
			t.Errorf("%s: %+v", n.name, r)
		}
	}
}

// The server answers h2load, over several connections with many streams each, in the clear and in TLS.
func TestHTTP2ServerOfH2load(t *testing.T) {
	t.Parallel()
	h2load, err := exec.LookPath("h2load")
	if err != nil {
		testneed.Missing(t, testneed.Web, err)
	}
	for _, n := range implementations() {
		for _, secured := range []string{study.Off, study.On} {
			p := http2Params("http2", 1, 1, 0, 3000)
			p.TLS = secured
			trial := trial2(t, p)
			address, stop := httpServing(t, n, p)
			out, err := exec.CommandContext(t.Context(), h2load, "-n", "2000", "-c", "3", "-m", "40", "-H", tagField+": "+trial.ask, map[string]string{study.Off: "http", study.On: "https"}[secured]+"://"+address+"/").CombinedOutput()
			must.True(t, err == nil && strings.Contains(string(out), "2000 succeeded, 0 failed, 0 errored, 0 timeout"), "%s, TLS %s: %v, %s", n.name, secured, err, out)
			if r := stop(); r.Messages != 2000 || r.Refused != 0 || r.Connections != 3 {
				t.Errorf("%s, TLS %s: %d messages, %d refused, %d connections", n.name, secured, r.Messages, r.Refused, r.Connections)
			}
		}
	}
}

// A proxy that speaks HTTP/2 on both sides may stand between the endpoints, with connections of its own to the server.
func TestHTTP2ThroughProxy(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, on := range pairings() {
		for _, kind := range []string{"http2", "grpc"} {
			p := http2Params(kind, 2, 4, 700, 3000)
			address, stop := httpServing(t, on.Server, p)
			to := must.Get(url.Parse("http://" + address))(t)
			transport := &http.Transport{Protocols: only2()}
			proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(to)
				r.Out.Header.Set("Te", "trailers")
			}})
			proxy.Config.Protocols = only2()
			proxy.Start()
			p.Address = proxy.Listener.Addr().String()
			c := must.Get(loopback.KindOf(over(on.Client), kind).Dial(t.Context(), p, nil))(must.Named(t, on))
			transport.CloseIdleConnections()
			s := stop()
			proxy.Close()
			must.True(t, c.Messages != 0 && c.Messages == s.Messages && c.Window.Failed == 0,
				"%s, %s: %d and %d messages, %d refused, %v", on, kind, c.Messages, s.Messages, s.Refused, c.Notes)
		}
	}
}

// A server that is not the trial's ends it with one line that says what it is.
func TestHTTP2OtherServers(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	for answer, want := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n":                                                "it does not speak HTTP/2: it answers in HTTP/1",
		"SSH-2.0-OpenSSH_9.2\r\n":                                                         "it does not speak HTTP/2: it is an SSH server",
		"\x15\x03\x01\x00\x02\x02\x46":                                                    "it does not speak HTTP/2: it sent a TLS record",
		"220 mail ESMTP\r\n":                                                              "it does not speak HTTP/2: it starts with",
		settings + "\x00\x00\x08\x06\x00\x00\x00\x00\x01abcdefgh":                         "a ping is on a stream",
		"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x02":                    "allows 2 requests at once on a connection; use streams: 2",
		settings + "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00": "the peer ended the connection: NO_ERROR",
		"": "the peer closed the connection, as did",
	} {
		for _, n := range implementations() {
			p := http2Params("http2", 1, 3, 0, 100)
			p.Duration = time.Minute // the trial ends before
			l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
			go answerAlways(l, answer)
			p.Address = l.Addr().String()
			_, err := loopback.KindOf(over(n), "http2").Dial(t.Context(), p, nil)
			l.Close()
			must.FailLine(t, n.name, err, want)
		}
	}
	of := func(fn func(w http.ResponseWriter, r *http.Request)) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			fn(w, r)
			return true
		}
	}
	status := func(code int) func(http.ResponseWriter, *http.Request) bool {
		return of(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Location", "/x"); w.WriteHeader(code) })
	}
	call := func(status, text string) func(http.ResponseWriter, *http.Request) bool {
		return of(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", status)
			w.Header().Set("Grpc-Message", text)
		})
	}
	for _, x := range []struct {
		kind, want string
		change     func(http.ResponseWriter, *http.Request) bool
	}{
		{"http2", `the answer is a redirect: 302 Found, to "/x"`, status(302)},
		{"http2", "the answer is 204 No Content, not 200", status(204)},
		{"http2", "the answer is 503 Service Unavailable, as did 30", status(503)},
		{"http2", "another server answers on this port", status(200)},
		{"http2", "the peer reset the stream: INTERNAL_ERROR, as did 30", of(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })},
		{"grpc", `the answer is not of gRPC: its content type is ""`, status(200)},
		{"grpc", `the answer is the status "12" of gRPC: "unknown\tmethod", as did 30`, call("12", "unknown\tmethod")},
		{"grpc", "the answer has no status of gRPC", of(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "application/grpc") })},
		{"grpc", "another server answers on this port", call("0", "")},
	} {
		for _, n := range implementations() {
			p := http2Params(x.kind, 1, 3, 0, 100)
			p.Duration = time.Minute
			p.Address = theirs2(t, p, x.change)
			_, err := loopback.KindOf(over(n), x.kind).Dial(t.Context(), p, nil)
			must.FailLine(t, n.name, err, x.want)
		}
	}
	// In TLS: one that agrees on no protocol, or knows HTTP/1.1 only, or shows another certificate.
	p := http2Params("http2", 1, 3, 0, 100)
	p.TLS, p.Duration = study.On, time.Minute
	for want, config := range map[string]*tls.Config{
		"it does not speak HTTP/2: it names no protocol that it speaks in TLS (ALPN)": {Certificates: []tls.Certificate{certificateOf(t, p)}},
		"it ended TLS with the alert: no application protocol":                        {Certificates: []tls.Certificate{certificateOf(t, p)}, NextProtos: []string{secure.HTTP1}},
		`the certificate of "web.example" is not that of the trial`:                   {Certificates: []tls.Certificate{foreignCertificate(t, -time.Hour, time.Hour)}, NextProtos: []string{secure.HTTP2}},
	} {
		for _, n := range implementations() {
			l := must.Get(tls.Listen("tcp", "127.0.0.1:0", config))(t)
			go answerAlways(l, "x")
			p.Address = l.Addr().String()
			_, err := loopback.KindOf(over(n), "http2").Dial(t.Context(), p, nil)
			l.Close()
			must.FailLine(t, n.name, err, "TLS handshake with "+p.Address, want)
		}
	}
}

// Requests that fail in different ways are counted by kind, and the other streams go on.
func TestHTTP2Failures(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		p := http2Params("http2", 1, 4, 0, 3000)
		p.Warmup = 0
		var requests, failing atomic.Int64
		requests.Store(6)
		p.Address = theirs2(t, p, func(w http.ResponseWriter, _ *http.Request) bool {
			kind := requests.Add(1) % 10
			if kind >= 1 && kind <= 4 {
				failing.Add(1)
			}
			switch kind {
			case 1:
				w.WriteHeader(http.StatusServiceUnavailable)
			case 2:
				w.WriteHeader(http.StatusNotFound)
			case 3:
				panic(http.ErrAbortHandler)
			case 4: // within the response
				w.WriteHeader(http.StatusOK)
				w.(http.Flusher).Flush()
				time.Sleep(time.Millisecond) // so that the client reads it before the reset; either is a failure
				panic(http.ErrAbortHandler)
			default:
				return false
			}
			return true
		})
		var c traffic.Report
		for c.Window.Failed < 10 {
			failing.Store(0)
			c = must.Get(loopback.KindOf(over(n), "http2").Dial(t.Context(), p, nil))(must.Named(t, n.name))
			p.Duration *= 2
		}
		note := fmt.Sprint(c.Notes)
		must.ContainFor(t, n.name, note, httpCutOff.String(), httpTruncated.String(), httpClientError.String(), httpServerError.String())
		must.True(t, c.Connections == 1 && c.Window.Messages != 0 && c.Window.Failed <= failing.Load(),
			"%s: %d connections, %d messages, %d of %d failed", n.name, c.Connections, c.Window.Messages, c.Window.Failed, failing.Load())
	}
}

// A server that ends each connection in order after some requests costs connections and no request; one that just closes them
// costs those in progress.
func TestHTTP2ServerThatEnds(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, orderly := range []bool{true, false} {
		for _, n := range implementations() {
			p := http2Params("http2", 1, 4, 0, 3000)
			var served atomic.Int64
			p.Address = theirs2(t, p, func(w http.ResponseWriter, _ *http.Request) bool {
				if served.Add(1)%50 == 0 {
					if w.Header().Set("Connection", "close"); !orderly {
						panic(errors.ErrUnsupported)
					}
				}
				return false
			})
			var c traffic.Report
			for c.Messages < 100 { // so that the server has ended more than once
				served.Store(0)
				c = must.Get(loopback.KindOf(over(n), "http2").Dial(t.Context(), p, nil))(must.Named(t, n.name))
				p.Duration *= 2
			}
			must.True(t, (c.Connections > 1) == orderly && (c.Window.Failed > 0) != orderly,
				"%s, orderly %t: %d messages over %d connections, %v", n.name, orderly, c.Messages, c.Connections, c.Notes)
		}
	}
}

// What is no HTTP/2 of the trial is refused and counted, whatever it sends, and delays no request.
func TestHTTP2ServerOfStrangers(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		p := http2Params("http2", 1, 1, 10, 100)
		trial := trial2(t, p)
		address, stop := httpServing(t, n, p)
		dial := func() net.Conn { return strange(t, address) }
		dial() // silent
		const begin = http2.Preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
		strangers := map[string]string{
			"GET / HTTP/1.1\r\n\r\n":                                                     "This port speaks HTTP/2 only.\n",
			"\x16\x03\x01\x02\x00\x01":                                                   "This port speaks HTTP/2 only.\n",
			begin + "\x00\x00\x01\x01\x05\x00\x00\x00\x02\x82":                           "\x00\x00\x00\x01", // an even stream
			begin + "\x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\xff\xff\xff":               "\x00\x00\x00\x03", // a window that overflows
			begin + strings.Repeat("\x00\x00\x08\x06\x00\x00\x00\x00\x00abcdefgh", 2000): "\x00\x00\x00\x0b",
			begin + "\x00\x00\x03\x01\x05\x00\x00\x00\x01\x82\x86\x84":                   "This port serves a trial of tare, and the request is not of it.\n",
			begin + "\x00\x00\x01\x01\x05\x00\x00\x00\x01\x82":                           "\x00\x00\x00\x01", // no path
		}
		for text, want := range strangers {
			c := dial()
			must.Get(c.Write([]byte(text)))(t)
			answer := must.Get(io.ReadAll(c))(t)
			must.True(t, strings.Contains(string(answer), want) && strings.HasPrefix(text, begin) != strings.HasPrefix(string(answer), "HTTP/1.1 400"),
				"%s: %.60q is answered with %.200q, not %q", n.name, text, answer, want)
		}
		transport := &http.Transport{Protocols: only2()}
		q := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, nil))(t)
		q.Header.Set(http1.TagField, trial.ask)
		r := must.Get(transport.RoundTrip(q))(t)
		must.Equal(t, []any{200, int64(100)}, []any{r.StatusCode, must.Get(io.Copy(io.Discard, r.Body))(t)})
		r.Body.Close()
		transport.CloseIdleConnections()
		if r := stop(); r.Messages != 1 || r.Refused != len(strangers)+1 || r.Connections != 1 {
			t.Errorf("%s: %d messages, %d refused of %d, %d connections", n.name, r.Messages, r.Refused, len(strangers)+1, r.Connections)
		}
	}
}

// Cancelling a trial ends both endpoints, and each reports why.
func TestHTTP2Cancelled(t *testing.T) {
	t.Parallel()
	for i, on := range pairings() {
		p := http2Params([]string{"http2", "grpc"}[i%2], 2, 3, quantity.Size(i*100_000), 100)
		p.Duration = time.Minute
		if i > 1 {
			p.TLS, p.TransactionRate = study.On, 50
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		address, end := loopback.Serve(ctx, t, loopback.KindOf(over(on.Server), p.Kind), p)
		p.Address = address
		time.AfterFunc(50*time.Millisecond, func() { cancel(errors.New("enough")) })
		_, err := loopback.KindOf(over(on.Client), p.Kind).Dial(ctx, p, nil)
		must.FailFor(t, on, err, "enough")
		must.FailFor(t, on, (<-end).Err, "enough")
	}
}

// A server that has shown that it speaks HTTP/2 and does not answer ends the trial, if it never answered; a stream that it leaves out while
// others are answered fails alone.
func TestHTTP2Silent(t *testing.T) {
	loopback.Room(t)
	t.Setenv(timelimit.Variable, "1") // it waits for a limit
	type outcome struct {
		name string
		c    traffic.Report
		err  error
	}
	ended := make(chan outcome)
	for _, n := range implementations() {
		for _, all := range []bool{true, false} {
			p := http2Params("http2", 1, 3, 0, 100)
			p.Warmup, p.Duration = 0, 6*time.Second
			var requests atomic.Int64
			p.Address = theirs2(t, p, func(_ http.ResponseWriter, r *http.Request) bool {
				silent := all || requests.Add(1) == 10
				if silent {
					<-r.Context().Done() // until the client resets the stream
				}
				return silent
			})
			go func() {
				c, err := loopback.KindOf(over(n), "http2").Dial(t.Context(), p, nil)
				ended <- outcome{fmt.Sprintf("%s, all %t", n.name, all), c, err}
			}()
		}
	}
	for range 2 * len(implementations()) {
		o := <-ended
		if strings.HasSuffix(o.name, "true") {
			must.FailLine(t, o.name, o.err, "did not answer within 5s")
			continue
		}
		must.Do(must.Named(t, o.name), o.err)
		must.True(t, o.c.Window.Failed == 1 && o.c.Connections == 1 && o.c.Messages >= 100 && strings.Contains(fmt.Sprint(o.c.Notes), "1 without a response in time"),
			"%s: %d messages over %d connections, %v", o.name, o.c.Messages, o.c.Connections, o.c.Notes)
	}
}
