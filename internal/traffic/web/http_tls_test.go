package web

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/http1"
	"tare/internal/traffic/secure"
	"tare/internal/warning"
)

func tlsParams(flows int, request, response quantity.Size, keepAlive string) traffic.Params {
	p := httpParams(flows, request, response, keepAlive)
	p.TLS = study.On
	return p
}

// Every pair of implementations carries requests in TLS, as TestHTTPConformance does without it: pinned or not, resumed or
// not, in slices or on a schedule. Both endpoints count the same.
func TestHTTPTLSConformance(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	i := 0
	for _, keep := range []string{study.On, study.Off} {
		for _, sizes := range [][2]quantity.Size{{0, 1024}, {3000, 200_000}, {300_000, 20_000}} {
			for _, flows := range []int{1, 3} {
				i++
				for j, on := range covering(i) {
					p := tlsParams(flows, sizes[0], sizes[1], keep)
					if (i+j)%2 == 0 {
						p.TransactionRate = 100
					} else {
						p.Slice, p.Rounds = 20*time.Millisecond, 3
					}
					if keep == study.Off && i%2 == 0 {
						p.Resumption = study.On
					}
					if i%3 == 0 {
						p.CPU = 0
					}
					name := fmt.Sprintf("%s, keep_alive %s, %v bytes, %d flows, rate %d, resumption %q", on, keep, sizes, flows, p.TransactionRate, p.Resumption)
					_, c, s, err := loopback.Grown(t.Context(), httpRequests{on.Client}, httpRequests{on.Server}, p)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					httpAgree(must.Named(t, name), p, c, s)
				}
			}
		}
	}
}

// certificateOf is a certificate of the trial.
func certificateOf(t *testing.T, p traffic.Params) tls.Certificate {
	t.Helper()
	return must.Get(secure.Certificate(p.Token, time.Now()))(t)
}

// foreignCertificate is a certificate that a trial does not know.
func foreignCertificate(t *testing.T, from, to time.Duration) tls.Certificate {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	c := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "web"}, DNSNames: []string{"web.example"},
		NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(to),
	}
	return tls.Certificate{Certificate: [][]byte{must.Get(x509.CreateCertificate(rand.Reader, &c, &c, key.Public(), key))(t)}, PrivateKey: key}
}

// theirsSecured is a server of net/http in TLS, which answers as a trial's does.
func theirsSecured(t *testing.T, p traffic.Params, config *tls.Config, seen func(*http.Request)) (address string) {
	t.Helper()
	trial := must.Get(newHTTPTrial(p))(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen(r)
		_, err := io.Copy(io.Discard, r.Body)
		if err != nil || r.Header.Get(http1.TagField) != trial.ask || r.TLS.NegotiatedProtocol != secure.HTTP1 || r.TLS.Version != tls.VersionTLS13 {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.Header().Set(http1.TagField, trial.answer)
		_, _ = w.Write(make([]byte, p.ResponseSize))
	}))
	s.TLS, s.Config.ErrorLog = config, log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// The client accepts net/http's server with a certificate of the trial. Its connections resume a session where that is
// on; if the server gives no tickets then, a warning tells.
func TestHTTPTLSClientOfNetHTTP(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		for _, keep := range []string{study.On, study.Off} {
			for _, resumption := range []string{study.On, study.Off} {
				for _, tickets := range []bool{true, false} {
					p := tlsParams(2, 500, 30_000, keep)
					p.Resumption, p.Duration = resumption, 100*time.Millisecond
					var resumed atomic.Int64
					config := &tls.Config{Certificates: []tls.Certificate{certificateOf(t, p)}, SessionTicketsDisabled: !tickets}
					p.Address = theirsSecured(t, p, config, func(r *http.Request) {
						if r.TLS.DidResume {
							resumed.Add(1)
						}
					})
					name := fmt.Sprintf("%s, keep_alive %s, resumption %s, tickets %t", n.name, keep, resumption, tickets)
					var c traffic.Report
					for c.Messages < 20 { // so that connections resume what others left
						resumed.Store(0)
						c = must.Get(httpRequests{n}.Dial(t.Context(), p, nil))(must.Named(t, name))
						p.Duration *= 2
					}
					if c.Window.Failed > 0 || keep == study.On && c.Connections != 2 || keep == study.Off && c.Connections != int(c.Messages) {
						t.Errorf("%s: %d messages, %d connections, %v", name, c.Messages, c.Connections, c.Notes)
					}
					if keep == study.On {
						continue
					}
					want := c.Messages - 2 // the first of each flow may have nothing to resume
					if resumption == study.Off || !tickets {
						want = 0
					}
					told := strings.Contains(fmt.Sprint(c.Notes), string(warning.NotResumed))
					if got := resumed.Load(); got < want || want == 0 && got > 0 || told != (resumption == study.On && !tickets) {
						t.Errorf("%s: %d of %d resumed, %v", name, got, c.Messages, c.Notes)
					}
				}
			}
		}
	}
}

// A server whose certificate is not the trial's, that speaks no TLS, or another version of it, ends the trial with one
// line that says so.
func TestHTTPTLSOtherServers(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	p := tlsParams(1, 0, 100, study.On)
	p.Duration = time.Minute // the trial ends before
	other := p
	other.Token = strings.Repeat("f", len(p.Token))
	old := &tls.Config{Certificates: []tls.Certificate{certificateOf(t, p)}, MaxVersion: tls.VersionTLS12}
	ftp := &tls.Config{Certificates: []tls.Certificate{certificateOf(t, p)}, NextProtos: []string{"ftp"}}
	for want, config := range map[string]*tls.Config{
		`the certificate of "web.example" is not that of the trial: another server answers, or a proxy ends TLS`: {Certificates: []tls.Certificate{foreignCertificate(t, -time.Hour, time.Hour)}},
		`the certificate of "web.example" expired at 2`:                                                          {Certificates: []tls.Certificate{foreignCertificate(t, -2*time.Hour, -time.Hour)}},
		`the certificate of "web.example" is valid from 2`:                                                       {Certificates: []tls.Certificate{foreignCertificate(t, time.Hour, 2*time.Hour)}},
		`the certificate of "trial.tare" is not that of the trial`:                                               {Certificates: []tls.Certificate{certificateOf(t, other)}},
		"it ended TLS with the alert: protocol version not supported":                                            old,
		"it ended TLS with the alert: no application protocol":                                                   ftp,
	} {
		for _, n := range implementations() {
			l := must.Get(tls.Listen("tcp", "127.0.0.1:0", config))(t)
			go answerAlways(l, "HTTP/1.1 200 OK\r\n\r\n")
			p.Address = l.Addr().String()
			_, err := httpRequests{n}.Dial(t.Context(), p, nil)
			l.Close()
			must.FailLine(t, n.name, err, "TLS handshake with "+p.Address, want)
		}
	}
	for answer, want := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n":              `it does not speak TLS: it starts with "HTTP/"`,
		"SSH-2.0-OpenSSH_9.2\r\n":                       `it does not speak TLS: it starts with "SSH-2"`,
		"\x15\x03\x03\x00\x02\x02\x28":                  "it ended TLS with the alert: handshake failure",
		"\x16\x03\x03\xff\xff" + strings.Repeat("x", 9): "TLS failed: oversized record received with length 65535",
		"\x16\x03\x03\x00\x04\x0b\x00\x00\x00":          "it does not keep to TLS: error decoding message",
		"":                                              "the peer closed the connection: unexpected EOF, as did 100 before it",
	} {
		for _, n := range implementations() {
			l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
			go answerAlways(l, answer)
			p.Address = l.Addr().String()
			_, err := httpRequests{n}.Dial(t.Context(), p, nil)
			l.Close()
			must.FailLine(t, n.name, err, "TLS handshake with "+p.Address, want)
		}
	}
}

// The server answers net/http's client in TLS, and only requests with the trial's tag.
func TestHTTPTLSServerOfNetHTTP(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		p := tlsParams(1, 5000, 70_000, study.On)
		trial := must.Get(newHTTPTrial(p))(t)
		address, stop := httpServing(t, n, p)
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		for _, tag := range []string{trial.answer, trial.ask, trial.ask} {
			q := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address+"/any?x", strings.NewReader(strings.Repeat("x", 5000))))(t)
			q.Header.Set(http1.TagField, tag)
			r := must.Get(transport.RoundTrip(q))(t)
			body := must.Get(io.ReadAll(r.Body))(t)
			r.Body.Close()
			want := map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[tag == trial.ask]
			if r.StatusCode != want || want == http.StatusOK && len(body) != 70_000 || r.TLS.Version != tls.VersionTLS13 {
				t.Errorf("%s: %d bytes, %+v", n.name, len(body), r)
			}
			_, isKey := r.TLS.PeerCertificates[0].PublicKey.(*ecdsa.PublicKey)
			must.EqualFor(t, n.name, []any{1, "trial.tare", true}, []any{len(r.TLS.PeerCertificates), r.TLS.PeerCertificates[0].Subject.CommonName, isKey})
		}
		transport.CloseIdleConnections()
		if r := stop(); r.Messages != 2 || r.Refused != 1 || r.Connections != 1 {
			t.Errorf("%s: %+v", n.name, r)
		}
	}
}

// What is no TLS of the trial is refused and counted, whatever it sends, and delays no request. Who speaks HTTP in the clear
// is told in one line.
func TestHTTPTLSServerOfStrangers(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	hello := clientHello(t)
	for _, n := range implementations() {
		p := tlsParams(1, 0, 100, study.On)
		trial := must.Get(newHTTPTrial(p))(t)
		address, stop := httpServing(t, n, p)
		dial := func() net.Conn { return strange(t, address) }
		dial() // silent
		must.Get(dial().Write(hello[:len(hello)/2]))(t)
		const alert = "\x15"
		strangers := map[string]string{
			"GET / HTTP/1.1\r\nHost: a\r\n\r\n":                 "HTTP/1.1 400 Bad Request\r\n",
			"SSH-2.0-OpenSSH_9.2\r\n":                           "HTTP/1.1 400 Bad Request\r\n",
			"\x16\x03\x01\xff\xff" + strings.Repeat("x", 99):    alert,
			"\x16\x03\x01\x00\x04\x01\xff\xff\xff":              alert, // a message of 16 MB
			"\x16\x03\x01\x00\x06\x01\x00\x00\x02\x03\x03":      alert,
			"\x17\x03\x03\x00\x01x":                             "HTTP/1.1 400 Bad Request\r\n",
			string(hello[:9]) + strings.Repeat("x", len(hello)): alert,
			string(hello) + string(hello):                       "\x16", // then an alert
		}
		for text, start := range strangers {
			c := dial()
			must.Get(c.Write([]byte(text)))(t)
			answer, _ := io.ReadAll(c) // a reset may end it
			must.True(t, bytes.HasPrefix(answer, []byte(start)), "%s: %.40q is answered with %.80q, not %.40q", n.name, text, answer, start)
			must.True(t, start == alert || start == "\x16" || bytes.HasSuffix(answer, []byte("\r\n\r\nThis port speaks TLS.\n")), "%s: %q", n.name, answer)
		}
		c := tls.Client(dial(), &tls.Config{InsecureSkipVerify: true})
		request := trial.request(netip.MustParseAddrPort(address), 0)
		must.Get(c.Write(request.after(0)))(t)
		reader := http1.NewResponseReader(100)
		for buf, done := make([]byte, 4096), false; !done; {
			size := must.Get(c.Read(buf))(t)
			_, done = must.Get2(reader.Read(buf[:size]))(t)
		}
		must.Do(t, trial.check(reader.Head(), reader.Body(), p.ResponseSize))
		if r := stop(); r.Messages != 1 || r.Refused != len(strangers)+2 || r.Connections != 1 {
			t.Errorf("%s: %d messages, %d refused of %d, %d connections", n.name, r.Messages, r.Refused, len(strangers)+2, r.Connections)
		}
	}
}

// clientHello returns the first message of a client.
func clientHello(t *testing.T) []byte {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	go func() { _ = tls.Client(b, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(t.Context()) }()
	buf := make([]byte, 4096)
	return buf[:must.Get(a.Read(buf))(t)]
}

// Strangers that fail more handshakes than a trial allows end it.
func TestHTTPTLSTooManyStrangers(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		p := tlsParams(1, 0, 100, study.On)
		address, end := loopback.Serve(t.Context(), t, httpRequests{n}, p)
		for range connection.MaxRefused {
			c := must.Get(net.Dial("tcp", address))(t)
			_, _ = io.WriteString(c, "\x17\x03\x03\x00\x01x")
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
		must.FailLine(t, n.name, (<-end).Err, "100 peers connected without the trial's token")
	}
}

// Connections that break in TLS are counted by kind, and the others go on.
func TestHTTPTLSFailures(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		p := tlsParams(1, 0, 3000, study.Off)
		p.Warmup = 0
		trial := must.Get(newHTTPTrial(p))(t)
		config := &tls.Config{Certificates: []tls.Certificate{certificateOf(t, p)}}
		bad := &tls.Config{Certificates: []tls.Certificate{foreignCertificate(t, -time.Hour, time.Hour)}}
		l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		defer l.Close()
		var connections atomic.Int64
		head := "HTTP/1.1 200 OK\r\n" + http1.TagField + ": " + trial.answer + "\r\nContent-Length: 3000\r\n\r\n"
		go func() {
			for {
				raw, err := l.Accept()
				if err != nil {
					return
				}
				kind := connections.Add(1) % 5
				go func() {
					defer raw.Close()
					use := config
					if kind == 3 {
						use = bad
					}
					c := tls.Server(raw, use)
					if kind == 0 { // in the handshake
						_, _ = raw.Read(make([]byte, 4096))
						return
					}
					if _, err := c.Read(make([]byte, 4096)); err != nil {
						return
					}
					switch kind {
					case 2: // within the response
						_, _ = io.WriteString(c, head+"abc")
					case 4: // a record that is none
						_, _ = io.WriteString(raw, "\x17\x03\x03\x00\x20"+strings.Repeat("x", 32))
					default:
						_, _ = io.WriteString(c, head+strings.Repeat("x", 3000))
						c.Close()
					}
				}()
			}
		}()
		p.Address = l.Addr().String()
		var c traffic.Report
		for c.Window.Failed < 10 { // until there were all kinds
			connections.Store(0) // the first request succeeds: else some kinds end the trial
			c = must.Get(httpRequests{n}.Dial(t.Context(), p, nil))(must.Named(t, n.name))
			p.Duration *= 2
		}
		must.ContainFor(t, n.name, fmt.Sprint(c.Notes), httpCutOff.String(), httpTruncated.String(), httpInsecure.String())
		must.True(t, c.Messages != 0, "%s: %+v", n.name, c)
	}
}

// Cancelling a trial in TLS ends both endpoints, also in the handshake, and each reports why.
func TestHTTPTLSCancelled(t *testing.T) {
	t.Parallel()
	for i, on := range pairings() {
		p := tlsParams(2, 0, 100, []string{study.On, study.Off}[i%2])
		p.Duration = time.Minute
		ctx, cancel := context.WithCancelCause(t.Context())
		address, end := loopback.Serve(ctx, t, httpRequests{on.Server}, p)
		if i%2 == 0 { // nobody does the server's part of the handshake
			l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
			defer l.Close()
			address = l.Addr().String()
		}
		p.Address = address
		time.AfterFunc(50*time.Millisecond, func() { cancel(errors.New("enough")) })
		_, err := httpRequests{on.Client}.Dial(ctx, p, nil)
		must.FailFor(t, on, err, "enough")
		must.FailFor(t, on, (<-end).Err, "enough")
	}
}

// Kept connections are open, and have had a request each, before anything counts, in a closed loop and on a schedule.
func TestHTTPTLSOpensFirst(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		for _, rate := range []int{0, 1000} {
			p := tlsParams(3, 0, 100, study.On)
			p.Warmup, p.TransactionRate = 0, rate
			address, stop := httpServing(t, n, p)
			p.Address = address
			c := must.Get(httpRequests{n}.Dial(t.Context(), p, nil))(must.Named(t, n.name))
			s := stop()
			must.EqualFor(t, n.name, []int64{c.Messages, 3}, []int64{s.Messages, int64(c.Connections)})
			// On a schedule the last ones may end after the window.
			if w := c.Window; w.Messages == 0 || c.Messages < w.Messages+3 || rate == 0 && c.Messages != w.Messages+3 {
				t.Errorf("%s, rate %d: %d messages, %d in the window", n.name, rate, c.Messages, w.Messages)
			}
		}
	}
}
