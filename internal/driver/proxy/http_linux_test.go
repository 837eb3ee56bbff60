package proxy_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/proxy"
	"tare/internal/lab"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
	"tare/internal/traffic"
)

// with are settings of proxy/http, as a study has them.
type with map[string]string

func (w with) String() string { return fmt.Sprint(map[string]string(w)) }

// need skips a test whose program is missing.
func (w with) need(t *testing.T) {
	t.Helper()
	switch w["program"] {
	case "nginx":
		drivertest.NeedProgram(t, testneed.Nginx, "nginx")
	case "caddy":
		drivertest.NeedProgram(t, testneed.Caddy, "caddy")
	case "envoy":
		drivertest.NeedProgram(t, testneed.Envoy, "envoy")
	default:
		drivertest.NeedProgram(t, testneed.HAProxy, "haproxy")
	}
}

// provision builds proxy/http with settings and some pairs.
func (w with) provision(t *testing.T, pairs int) *drivertest.Setup {
	t.Helper()
	w.need(t)
	return drivertest.Build(t, proxy.Driver{}, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: "proxy/http", Pairs: pairs, With: w}))
}

// requests are trials of HTTP/1.1: several flows, a connection for each request, a request without a body, and a response that is
// longer than any buffer of a proxy.
func requests() map[string]traffic.Params {
	flows, closing, bare, long := drivertest.Params("http"), drivertest.Params("http"), drivertest.Params("http"), drivertest.Params("http")
	flows.Streams = 8
	closing.KeepAlive = study.Off
	bare.RequestSize = 0
	long.ResponseSize = 300_000
	return map[string]traffic.Params{"flows": flows, "closing": closing, "bare": bare, "long": long}
}

// Requests of each kind are proven with each program at each placement, with TLS and without, over connections that are kept and
// those that are not, and over both address families.
func TestEnginesRequests(t *testing.T) {
	for i, w := range []with{
		{}, {"placement": "client"}, {"placement": "server", "reuse": "off"}, {"placement": "hop"}, {"reuse": "off"},
		{"tls": "on"}, {"tls": "mutual", "reuse": "off"}, {"tls": "mutual", "placement": "hop"},
		{"program": "nginx"}, {"program": "nginx", "placement": "hop", "reuse": "off"}, {"program": "nginx", "tls": "mutual"}, {"program": "nginx", "tls": "on", "reuse": "off", "placement": "hop"},
		{"program": "caddy"}, {"program": "caddy", "placement": "hop", "reuse": "off"}, {"program": "caddy", "tls": "mutual"}, {"program": "caddy", "tls": "on", "reuse": "off", "placement": "hop"},
		{"program": "envoy"}, {"program": "envoy", "placement": "client", "reuse": "off"}, {"program": "envoy", "placement": "server"}, {"program": "envoy", "placement": "hop", "reuse": "off"},
		{"program": "envoy", "tls": "mutual"}, {"program": "envoy", "tls": "mutual", "reuse": "off"}, {"program": "envoy", "tls": "on", "reuse": "off", "placement": "hop"},
	} {
		t.Run(w.String(), func(t *testing.T) {
			s := w.provision(t, 1+i%2)
			s.CheckTopology(t)
			_, _, noIPv6 := s.Path.Pairs[0].Server.Reach(true)
			for name, p := range requests() {
				client, server, err := s.Trial(t, p, noIPv6 == nil && name == "bare")
				must.EqualFor(t, name, nil, err)
				must.EqualFor(t, name+": answered", []any{client.Messages, int64(0)}, []any{server.Messages, client.Failed})
			}
			if w["program"] == "nginx" {
				return
			}
			for _, kind := range []string{"http2", "grpc"} {
				_, _, err := s.Trial(t, drivertest.Params(kind), false)
				must.EqualFor(t, kind, nil, err)
			}
		})
	}
}

// A client that dials past a proxy makes the path void, though its requests are answered.
func TestEnginesPastHTTPProxies(t *testing.T) {
	for _, tt := range []struct {
		of     with
		listen bool // the server is dialled itself, not the next proxy
		want   string
	}{
		{with{}, false, "a/proxy.requests"},
		{with{"tls": "on"}, true, "b/proxy.requests"},
		{with{"placement": "server"}, true, "b/proxy.requests"},
		{with{"placement": "hop", "reuse": "off"}, true, "hop/proxy.requests"},
		{with{"program": "caddy"}, false, "a/proxy.requests"},
		{with{"program": "envoy"}, false, "a/proxy.requests"},
		{with{"program": "envoy", "tls": "on"}, true, "b/proxy.requests"},
	} {
		t.Run(tt.of.String(), func(t *testing.T) {
			s := tt.of.provision(t, 1)
			if _, _, err := s.Trial(t, drivertest.Params("http"), false); err != nil {
				t.Fatalf("before the shortcut: %v", err)
			}
			at := &s.Path.Pairs[0].Server
			at.Dial[0] = netip.AddrPortFrom(s.Lab.B.Addr[0], at.Dial[0].Port())
			if tt.listen {
				const elsewhere = 5900
				at.Listen[0], at.Dial[0] = netip.AddrPortFrom(netip.IPv4Unspecified(), elsewhere), netip.AddrPortFrom(s.Lab.B.Addr[0], elsewhere)
			}
			s.Void(t, drivertest.Params("http"), tt.want)
		})
	}
}

// changed puts an haproxy in PATH whose configuration a sed script changes first.
func changed(t *testing.T, script string) {
	t.Helper()
	with{}.need(t)
	program := must.Get(daemon.Find("haproxy"))(t)
	dir := t.TempDir()
	text := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = -v ] && exec %[1]s -v\nsed -e '%[2]s' /run/proxy.cfg >/run/changed.cfg && exec %[1]s -W -db -f /run/changed.cfg\n", program, script)
	must.Do(t, os.WriteFile(filepath.Join(dir, "haproxy"), []byte(text), 0o755)) //nolint:gosec // it is to be run
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// A proxy that forwards TCP in the place of one that reads requests is found when the mode is set up, because the server sees no
// X-Forwarded-For, and so is one that does not say that it is there.
func TestEnginesRequestsNotRead(t *testing.T) {
	for name, script := range map[string]string{"tcp": "s/mode http/mode tcp/; /h2/d", "silent": "/forwardfor/d"} {
		t.Run(name, func(t *testing.T) {
			changed(t, script)
			spec := drivertest.Spec(t, nil)
			_, err := proxy.Driver{}.Provision(t.Context(), drivertest.SpecOn(spec, driver.Order{Mode: "proxy/http", Pairs: 1, With: with{"placement": "client"}}))
			must.FailLine(t, "the error", err, "the server sees 0 addresses in X-Forwarded-For (\"\"), and each of 1 proxies adds one")
			left, globErr := filepath.Glob("/run/netns/" + lab.Prefix + spec.Claim.ID + "*")
			must.Equal(t, []any{nil, 0}, []any{globErr, len(left)})
		})
	}
}

// A proxy that answers from a cache makes the path void: the server did not answer what the client received.
func TestEnginesCacheIsVoid(t *testing.T) {
	changed(t, `1s/^/cache c\n    total-max-size 4\n    max-age 60\n/
s/^frontend .*/&\n    http-request cache-use c\n    http-response set-header Cache-Control max-age=60\n    http-response cache-store c/`)
	s := with{"placement": "client"}.provision(t, 1)
	p := drivertest.Params("http")
	p.RequestSize = 0
	s.Void(t, p, "a/proxy.requests")
}

// Connections that a proxy keeps where the study has one for each request make the path void, and the other way round.
func TestEnginesOtherReuseIsVoid(t *testing.T) {
	for reuse, script := range map[string]string{"off": "s/option http-server-close//; s/http-reuse never/http-reuse always/; s/max-reuse 0//", "on": "s/http-reuse always/option http-server-close/; s/pool-purge-delay 1h/max-reuse 0/"} {
		t.Run(reuse, func(t *testing.T) {
			changed(t, script)
			s := with{"placement": "client", "reuse": reuse}.provision(t, 1)
			p := drivertest.Params("http")
			p.Streams, p.Duration = 8, timelimit.Scaled(2*p.Duration) // more requests than connections are free, on a busy machine, too
			s.Void(t, p, "b/eth0.opened_packets")
		})
	}
}

// A proxy that answers with an error of its own fails the trial by that name, and not by a hang.
func TestEnginesProxyRefuses(t *testing.T) {
	changed(t, "s/^frontend .*/&\\n    http-request deny deny_status 503 if { hdr(Tare-Trial) -m found }/")
	s := with{"placement": "client"}.provision(t, 1)
	must.FailLine(t, "the trial", failing(t, s, drivertest.Params("http")), "the answer is 503 Service Unavailable, as did ")
}

// failing returns the error of a trial.
func failing(t *testing.T, s *drivertest.Setup, p traffic.Params) error {
	t.Helper()
	listen, dial, err := s.Path.Pairs[0].Server.Reach(false)
	must.Do(t, err)
	client, server := p, p
	client.Address, server.Address = dial.String(), listen.String()
	trial, err := agent.Begin(t.Context(), s.Ends[0].Client, s.Ends[0].Server, client, server)
	must.Do(t, err)
	_, _, err = trial.Run(t.Context())
	return err
}

// The second proxy passes on no request in the clear, and with mutual TLS none of a client without a certificate.
func TestEnginesOnlyTLSRequests(t *testing.T) {
	for _, w := range []with{{"tls": "mutual"}, {"tls": "mutual", "program": "nginx"}, {"tls": "mutual", "program": "caddy"}, {"tls": "mutual", "program": "envoy"}} {
		t.Run(w.String(), func(t *testing.T) {
			s := w.provision(t, 1)
			at := s.Path.Pairs[0].Server.Listen[0]
			var server net.Listener
			must.Do(t, s.Lab.B.NS.Do(func() (err error) {
				server, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
				return err
			}))
			t.Cleanup(func() { server.Close() })
			arrived := make(chan string, 8)
			go func() {
				for {
					c, err := server.Accept()
					if err != nil {
						return
					}
					arrived <- c.RemoteAddr().String()
					c.Close()
				}
			}()
			for name, wrap := range map[string]func(net.Conn) net.Conn{
				"in the clear":          func(c net.Conn) net.Conn { return c },
				"without a certificate": func(c net.Conn) net.Conn { return tls.Client(c, &tls.Config{InsecureSkipVerify: true}) }, //nolint:gosec // it is the proxy that must refuse
			} {
				var c net.Conn
				must.Do(t, s.Lab.A.NS.Do(func() (err error) {
					c, err = net.Dial("tcp", netip.AddrPortFrom(s.Lab.B.Addr[0], at.Port()).String())
					return err
				}))
				must.Do(t, c.SetDeadline(time.Now().Add(timelimit.Scaled(5*time.Second))))
				in := wrap(c)
				_, err := io.WriteString(in, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
				answer := make([]byte, 64)
				var n int
				if err == nil {
					n, err = in.Read(answer)
				}
				if errors.Is(err, os.ErrDeadlineExceeded) || strings.HasPrefix(string(answer[:n]), "HTTP/1.1 2") {
					t.Errorf("%s: the answer is %q, %v", name, answer[:n], err)
				}
				c.Close()
			}
			select {
			case who := <-arrived:
				t.Errorf("the server has a connection from %s", who)
			default:
			}
		})
	}
}

// A program that is another one, or too old, is named with what to install.
func TestBadProgram(t *testing.T) {
	for _, tt := range []struct{ program, says, want string }{
		{"nginx", "something else", "unexpected output \"something else\"; install a current nginx"},
		{"envoy", "something else", "unexpected output \"something else\"; install a current envoy"},
		{"envoy", "envoy  version: 9e55/1.36.2/Clean/RELEASE/BoringSSL", "it is 1.36.2, and must be 1.37 or newer; install a current envoy"},
	} {
		spec, dir := drivertest.Spec(t, nil), t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, tt.program), []byte("#!/bin/sh\necho '"+tt.says+"'\n"), 0o755)) //nolint:gosec // it is to be run
		t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
		_, err := proxy.Driver{}.Provision(t.Context(), drivertest.SpecOn(spec, driver.Order{Mode: "proxy/http", Pairs: 1, With: with{"program": tt.program}}))
		must.FailLine(t, tt.program, err, "proxy/http is unsupported here", tt.want)
	}
}

// A program that Debian has no package of is named with where it is.
func TestNoEnvoy(t *testing.T) {
	spec := drivertest.Spec(t, nil)
	t.Setenv("PATH", t.TempDir())
	if path, err := daemon.Find("envoy"); err == nil {
		t.Skipf("needs a machine without Envoy: %s is there", path)
	}
	_, err := proxy.Driver{}.Provision(t.Context(), drivertest.SpecOn(spec, driver.Order{Mode: "proxy/http", Pairs: 1, With: with{"program": "envoy"}}))
	must.FailLine(t, "the error", err, "proxy/http is unsupported here", "envoy is not installed", "install it (github.com/envoyproxy/envoy/releases; ", "or set program: haproxy")
}

// A proxy that is killed within a trial is named by the path's error, and the trial fails.
func TestEnginesHTTPProxyKilled(t *testing.T) {
	s := with{}.provision(t, 1)
	p := drivertest.Params("http")
	p.Duration = timelimit.Scaled(2 * time.Second)
	time.AfterFunc(200*time.Millisecond, func() { _ = syscall.Kill(s.Path.Processes()[1], syscall.SIGKILL) })
	if err := failing(t, s, p); err == nil {
		t.Error("the trial succeeded")
	}
	var err error
	for end := time.Now().Add(20 * time.Second); err == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		_, err = s.Path.Snapshot(t.Context())
	}
	must.FailLine(t, "of a proxy that was killed", err, "the proxy in b has ended: signal: killed")
	must.FailLine(t, "the path", s.Path.Lost(), "the proxy in b has ended: signal: killed")
}

// Configuration, certificates and keys are readable by root alone, and the sockets with statistics are in the private /run: no
// proxy listens on a port besides those of the pairs.
func TestEnginesHTTPSecrets(t *testing.T) {
	for _, w := range []with{{"tls": "mutual"}, {"tls": "mutual", "program": "nginx"}, {"tls": "mutual", "program": "caddy"}, {"tls": "mutual", "program": "envoy"}} {
		t.Run(w.String(), func(t *testing.T) {
			s := w.provision(t, 1)
			facts := map[string]string{}
			for _, f := range s.Path.Facts {
				facts[f.Name] = f.Value
			}
			must.Contain(t, facts["TLS"], "TLS 1.3, TLS_AES_128_GCM_SHA256, key exchange X25519, mutual")
			must.Contain(t, facts["connections of the proxies"], "kept and shared")
			for _, pid := range s.Path.Processes() {
				root := filepath.Join("/proc", strconv.Itoa(pid), "root/run")
				dir := must.Get(os.Stat(root))(t)
				must.Equal(t, os.FileMode(0o700), dir.Mode().Perm())
				for _, name := range []string{"proxy.cfg", "authority.pem"} {
					must.Equal(t, os.FileMode(0o600), must.Get(os.Stat(filepath.Join(root, name)))(t).Mode().Perm())
				}
				sockets := must.Get(os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "net/tcp")))(t)
				for line := range strings.Lines(string(sockets)) {
					if f := strings.Fields(line); len(f) > 3 && f[3] == "0A" && !strings.HasSuffix(f[1], ":1451") {
						t.Errorf("in the namespace of process %d something listens at %s", pid, f[1])
					}
				}
			}
		})
	}
}

// The administration socket of an Envoy is root's alone, tells how many requests there were, and does nothing else: the proxy cannot be
// stopped by it, nor its configuration be read.
func TestEnginesEnvoySocket(t *testing.T) {
	s := with{"program": "envoy", "placement": "client"}.provision(t, 1)
	path := filepath.Join("/proc", strconv.Itoa(s.Path.Processes()[0]), "root/run/stats")
	must.Equal(t, os.FileMode(0o600), must.Get(os.Stat(path))(t).Mode().Perm())
	status := func(request string) string {
		c := must.Get(net.Dial("unix", path))(t)
		defer c.Close()
		must.Do(t, c.SetDeadline(time.Now().Add(timelimit.Scaled(5*time.Second))))
		must.Get(io.WriteString(c, request+" HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))(t)
		line, _, _ := strings.Cut(string(must.Get(io.ReadAll(c))(t)), "\r\n")
		return line
	}
	must.Equal(t, "HTTP/1.1 200 OK", status("GET /stats?filter=^http[.]route[0-9]+[.]downstream_rq_total$"))
	for _, request := range []string{"POST /quitquitquit", "GET /config_dump", "POST /logging?level=trace", "POST /reset_counters", "GET /stats", "GET /"} {
		must.EqualFor(t, request, "HTTP/1.1 403 Forbidden", status(request))
	}
	must.Do(t, s.Path.Lost())
}
