package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
	"tare/internal/traffic"
	"tare/internal/traffic/http1"
)

// theirs is a server of net/http that answers as a trial's does.
func theirs(t *testing.T, p traffic.Params, change func(http.ResponseWriter, *http.Request) (done bool)) *httptest.Server {
	t.Helper()
	trial := must.Get(newHTTPTrial(p))(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if change(w, r) {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || len(body) != int(p.RequestSize) || r.Header.Get(http1.TagField) != trial.ask || r.Method != map[bool]string{false: "GET", true: "POST"}[p.RequestSize > 0] {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.Header().Set(http1.TagField, trial.answer)
		_, _ = w.Write(make([]byte, p.ResponseSize))
	}))
	t.Cleanup(s.Close)
	return s
}

// The client is right about the responses of net/http's server, whatever form these have.
func TestHTTPClientOfNetHTTP(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for what, change := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"with a length": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "3000")
			return false
		},
		"in chunks": func(w http.ResponseWriter, _ *http.Request) bool {
			_ = http.NewResponseController(w).EnableFullDuplex() // for the body, which is read later
			w.(http.Flusher).Flush()
			return false
		},
		"that close": func(w http.ResponseWriter, _ *http.Request) bool { w.Header().Set("Connection", "close"); return false },
		"after interim ones": func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusEarlyHints)
			return false
		},
	} {
		for _, n := range implementations() {
			for _, keep := range []string{study.On, study.Off} {
				p := httpParams(2, 500, 3000, keep)
				trial := must.Get(newHTTPTrial(p))(t)
				s := theirs(t, p, func(w http.ResponseWriter, r *http.Request) bool {
					w.Header().Set(http1.TagField, trial.answer)
					return change(w, r)
				})
				p.Address = s.Listener.Addr().String()
				p.Duration = 60 * time.Millisecond
				c := must.Get(httpRequests{n}.Dial(t.Context(), p, nil))(must.Named(t, what))
				connections := p.Streams
				if keep == study.Off || what == "that close" {
					connections = int(c.Messages)
				}
				must.True(t, c.Messages != 0 && c.Window.Failed <= 0 && c.Connections == connections,
					"%s, %s, keep_alive %s: %d messages, %d connections, %v", what, n.name, keep, c.Messages, c.Connections, c.Notes)
			}
		}
	}
}

// httpServing opens a trial's port. stop ends the trial as the client's report does.
func httpServing(t testing.TB, n path, p traffic.Params) (address string, stop func() traffic.Report) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timelimit.Scaled(20*time.Second))
	t.Cleanup(cancel)
	s := must.Get(loopback.KindOf(over(n), p.Kind).Listen(p))(t)
	end, peer := make(chan loopback.Served, 1), make(chan traffic.Report, 1)
	go func() {
		r, err := s.Serve(ctx, peer)
		end <- loopback.Served{Report: r, Err: err}
	}()
	return fmt.Sprintf("127.0.0.1:%d", s.Port()), func() traffic.Report {
		peer <- traffic.Report{}
		r := <-end
		must.Do(must.Named(t, n.name), r.Err)
		return r.Report
	}
}

// strange is a connection of a program that is not part of the trial.
func strange(t *testing.T, address string) net.Conn {
	t.Helper()
	c := must.Get(net.Dial("tcp", address))(t)
	t.Cleanup(func() { c.Close() })
	must.Do(t, c.SetDeadline(time.Now().Add(timelimit.Scaled(10*time.Second))))
	return c
}

// The server answers net/http's client and curl, and refuses who does not show the trial's tag.
func TestHTTPServerOfNetHTTP(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		t.Run(n.name, func(t *testing.T) {
			p := httpParams(1, 5000, 70_000, study.On)
			trial := must.Get(newHTTPTrial(p))(t)
			address, stop := httpServing(t, n, p)
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			ask := func(body io.Reader, header http.Header) (*http.Response, int) {
				q := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/any?x", body))(t)
				q.Header = header
				r := must.Get(transport.RoundTrip(q))(t)
				defer r.Body.Close()
				return r, len(must.Get(io.ReadAll(r.Body))(t))
			}
			ours := http.Header{http1.TagField: {trial.ask}}
			bodies := map[string]func() io.Reader{
				"with a length": func() io.Reader { return strings.NewReader(strings.Repeat("x", 5000)) },
				"in chunks":     func() io.Reader { return io.MultiReader(strings.NewReader(strings.Repeat("x", 5000))) },
				"without one":   func() io.Reader { return nil },
			}
			for what, body := range bodies {
				for _, expect := range []string{"", "100-continue"} {
					header := ours.Clone()
					if expect != "" && what != "without one" {
						header.Set("Expect", expect)
					}
					r, size := ask(body(), header) //nolint:bodyclose // ask closes it
					must.True(t, r.StatusCode == 200 && size == 70_000 && r.Header.Get(http1.TagField) == trial.answer && !r.Close, "%s: %d bytes, %+v", what, size, r)
					if date, err := http.ParseTime(r.Header.Get("Date")); err != nil || time.Since(date).Abs() > time.Minute {
						t.Errorf("date %q: %v", r.Header.Get("Date"), err)
					}
				}
			}
			r, _ := ask(strings.NewReader(strings.Repeat("x", 5001)), ours) //nolint:bodyclose // ask closes it
			must.Equal(t, http.StatusRequestEntityTooLarge, r.StatusCode)
			for _, header := range []http.Header{{}, {http1.TagField: {"0123"}}, {http1.TagField: {trial.answer}}} {
				r, _ := ask(bodies["with a length"](), header) //nolint:bodyclose // ask closes it
				must.Equal(t, []any{http.StatusForbidden, true}, []any{r.StatusCode, r.Close})
			}
			if r := stop(); r.Messages != 6 || r.Refused != 3 || r.Sent < 6*70_000 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Where a proxy ends connections that the client keeps, the server knows an upper bound of what it sent all the same, and of what
// arrived, how much every proxy must have passed on.
func TestHTTPServerOfEndedConnections(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		t.Run(n.name, func(t *testing.T) {
			const requests, size = 20, 300_000
			p := httpParams(1, 0, size, study.On)
			trial := must.Get(newHTTPTrial(p))(t)
			address, stop := httpServing(t, n, p)
			for range requests {
				q := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, nil))(t)
				q.Header, q.Close = http.Header{http1.TagField: {trial.ask}}, true
				r := must.Get(http.DefaultTransport.RoundTrip(q))(t)
				must.Equal(t, size, len(must.Get(io.ReadAll(r.Body))(t)))
				r.Body.Close()
			}
			r := stop()
			must.Equal(t, []int64{requests, requests * leastHead}, []int64{r.Messages, r.Content})
			must.True(t, r.TCP.Wire >= uint64(r.Sent) && r.TCP.Wire <= 2*uint64(r.Sent) && r.TCP.Segments >= requests,
				"%d bytes were sent, at most %d in %d segments", r.Sent, r.TCP.Wire, r.TCP.Segments)
		})
	}
}

func TestHTTPServerOfCurl(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		testneed.Missing(t, testneed.Web, err)
	}
	for _, n := range implementations() {
		p := httpParams(1, 5000, 3000, study.On)
		trial := must.Get(newHTTPTrial(p))(t)
		address, stop := httpServing(t, n, p)
		for _, args := range [][]string{{}, {"--http1.0"}, {"-d", strings.Repeat("x", 5000)}, {"-H", "Transfer-Encoding: chunked", "-d", "x"}} {
			args = append([]string{"-sSf", "--noproxy", "*", "-m", "20", "-o", "/dev/null", "-w", "%{http_code} %{size_download} %{num_connects}\n", "-H", http1.TagField + ": " + trial.ask, "http://" + address, "-o", "/dev/null", "http://" + address}, args...)
			out, err := exec.CommandContext(t.Context(), curl, args...).CombinedOutput()
			want := "200 3000 1\n200 3000 0\n"
			if strings.Contains(args[len(args)-1], "1.0") {
				want = "200 3000 1\n200 3000 1\n"
			}
			must.True(t, err == nil && string(out) == want, "%s: curl %v: %v, %s", n.name, args, err, out)
		}
		if r := stop(); r.Messages != 8 || r.Refused != 0 {
			t.Errorf("%s: %+v", n.name, r)
		}
	}
}

// A malformed request is answered with its status, and the connection ends. A silent connection delays nobody and is
// counted as refused; requests that come together, or in pieces, are all answered.
func TestHTTPServerOfStrangers(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		t.Run(n.name, func(t *testing.T) {
			p := httpParams(1, 10, 100, study.On)
			trial := must.Get(newHTTPTrial(p))(t)
			address, stop := httpServing(t, n, p)
			dial := func() net.Conn {
				c := must.Get(net.Dial("tcp", address))(t)
				t.Cleanup(func() { c.Close() })
				must.Do(t, c.SetDeadline(time.Now().Add(timelimit.Scaled(10*time.Second))))
				return c
			}
			dial() // silent
			request := trial.request(netip.MustParseAddrPort(address), 0)
			whole := request.after(0)
			for text, status := range map[string]string{
				"GET / HTTP/1.1\n\n":       "400 Bad Request",
				"GET / HTTP/1.1\r\n\r\n":   "400 Bad Request",
				"\x16\x03\x01\x02\x00\x01": "400 Bad Request",
				"GET / HTTP/2.0\r\n\r\n":   "505 HTTP Version Not Supported",
				"GET /" + strings.Repeat("x", http1.MaxHead) + " HTTP/1.1\r\n\r\n":                                          "431 Request Header Fields Too Large",
				"GET / HTTP/1.1\r\nHost: a\r\n\r\n":                                                                         "403 Forbidden",
				strings.Replace(string(whole), "Length: 10", "Length: 11", 1):                                               "413 Request Entity Too Large",
				strings.Replace(string(whole), "POST", "HEAD", 1):                                                           "501 Not Implemented",
				strings.Replace(string(whole), "Content-Length: 10", "Transfer-Encoding: chunked\r\nContent-Length: 10", 1): "400 Bad Request",
			} {
				c := dial()
				must.Get(c.Write([]byte(text)))(t)
				answer := must.Get(io.ReadAll(c))(t)
				must.True(t, bytes.HasPrefix(answer, []byte("HTTP/1.1 "+status+"\r\n")) && bytes.Contains(answer, []byte("\r\nConnection: close\r\n")),
					"%.40q is answered with %q", text, answer)
			}
			c := dial()
			reader := http1.NewResponseReader(1000)
			read := func(want int) {
				t.Helper()
				for buf := make([]byte, 4096); want > 0; {
					size := must.Get(c.Read(buf))(t)
					for b := buf[:size]; len(b) > 0; {
						k, done := must.Get2(reader.Read(b))(t)
						b = b[k:]
						if done {
							want--
							must.Do(t, trial.check(reader.Head(), reader.Body(), p.ResponseSize))
						}
					}
				}
			}
			must.Get(c.Write(bytes.Repeat(whole, 3)))(t)
			read(3)
			for _, piece := range [][]byte{whole[:1], whole[1:30], whole[30 : len(whole)-2], whole[len(whole)-2:]} {
				must.Get(c.Write(piece))(t)
				time.Sleep(2 * time.Millisecond) // so that they arrive one by one; the test holds if they do not
			}
			read(1)
			if r := stop(); r.Messages != 4 || r.Refused != 10 || r.Connections != 1 || r.Received != int64(4*request.size) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A server that is not the trial's ends it with one line that says what it is.
func TestHTTPOtherServers(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	p := httpParams(1, 0, 100, study.On)
	p.Duration = time.Minute // the trial ends before
	trial := must.Get(newHTTPTrial(p))(t)
	good := "HTTP/1.1 200 OK\r\n" + http1.TagField + ": " + trial.answer + "\r\n"
	for answer, want := range map[string]string{
		"SSH-2.0-OpenSSH_9.2\r\n":      "it does not speak HTTP/1: it is an SSH server",
		"\x15\x03\x01\x00\x02\x02\x46": "it does not speak HTTP/1: it sent a TLS record",
		"HTTP/1.1 200 OK\n\n":          "a line ends without CR",
		"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n":           `the answer is a redirect: 302 Found, to "/x"`,
		"HTTP/1.1 204 No Content\r\n\r\n":                                           "the answer is 204 No Content, not 200",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + strings.Repeat("x", 100): "another server answers on this port",
		good + "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc":             `something on the path compresses responses: their content encoding is "gzip"`,
		good + "Content-Length: 3\r\n\r\nabc":                                       "the response has a body of 3 bytes, not 100",
		good + "Content-Length: 100\r\n\r\n" + strings.Repeat("x", 101):             "the server sent more than the response",
		"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n":             "the answer is 503 Service Unavailable, as did 100 before it",
		"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n":  "the answer is 403 Forbidden, as did 100 before it",
		good + "Content-Length: 100\r\n\r\nabc":                                     "the connection ended within the message, as did 100 before it",
		"":                                                                          "the peer closed the connection, as did 100 before it",
	} {
		for _, n := range implementations() {
			l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
			go answerAlways(l, answer)
			p.Address = l.Addr().String()
			_, err := httpRequests{n}.Dial(t.Context(), p, nil)
			l.Close()
			must.FailLine(t, n.name, err, want)
		}
	}
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	l.Close()
	p.Address = l.Addr().String()
	for _, n := range implementations() {
		_, err := httpRequests{n}.Dial(t.Context(), p, nil)
		must.FailLine(t, n.name, err, "connection refused, as did 100 before it")
	}
}

// answerAlways answers each request, or what it takes for one, with the same. A connection ends with an answer that is not
// complete.
func answerAlways(l net.Listener, answer string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for buf := make([]byte, 4096); ; {
				if _, err := c.Read(buf); err != nil {
					return
				}
				if _, err := io.WriteString(c, answer); err != nil || strings.HasSuffix(answer, "abc") || answer == "" || strings.Contains(answer, "close") {
					return
				}
			}
		}()
	}
}

// A proxy that understands HTTP may stand between the endpoints, with connections of its own to the server.
func TestHTTPThroughProxy(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, on := range pairings() {
		for _, keep := range []string{study.On, study.Off} {
			p := httpParams(3, 700, 3000, keep)
			p.Duration = 60 * time.Millisecond
			address, stop := httpServing(t, on.Server, p)
			to := must.Get(url.Parse("http://" + address))(t)
			transport := &http.Transport{MaxIdleConnsPerHost: 10}
			proxy := httptest.NewServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(to)
				r.SetXForwarded()
			}})
			p.Address = proxy.Listener.Addr().String()
			c := must.Get(httpRequests{on.Client}.Dial(t.Context(), p, nil))(must.Named(t, on))
			s := stop()
			transport.CloseIdleConnections()
			proxy.Close()
			// Its transport may open a connection for a request that another one then carries: it stays silent, which the
			// server counts as refused.
			must.True(t, c.Messages != 0 && c.Messages == s.Messages && c.Window.Failed == 0 && s.Refused <= s.Connections,
				"%s, keep_alive %s: %d and %d messages, %d refused, %v", on, keep, c.Messages, s.Messages, s.Refused, c.Notes)
		}
	}
}
