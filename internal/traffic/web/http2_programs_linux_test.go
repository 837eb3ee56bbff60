package web

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tare/internal/study"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
	"tare/internal/testkit/testneed"
	"tare/internal/traffic"
	"tare/internal/traffic/http1"
)

// nginx2 runs nginx until the test ends: as a proxy of gRPC before to, and as a server of HTTP/2 with that body and tag in the clear
// and in TLS with a certificate of the trial.
func nginx2(t *testing.T, p traffic.Params, to, tag string) (proxyAt, clearAt, tlsAt string) {
	t.Helper()
	nginx := program(t, "nginx")
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "body"), make([]byte, p.ResponseSize), 0o644))
	proxyAt, clearAt, tlsAt = nstest.FreePort(t).String(), nstest.FreePort(t).String(), nstest.FreePort(t).String()
	config := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log stderr;
events {}
http {
  access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
  upstream ours { server %[2]s; keepalive 4; }
  add_header %[3]s %[4]s;
  server { listen %[5]s http2; location / { grpc_pass grpc://ours; } }
  server { listen %[6]s http2; location / { root %[1]s; try_files /body =404; } }
  server { listen %[7]s ssl http2; ssl_certificate %[8]s; ssl_certificate_key %[8]s; ssl_protocols TLSv1.3; location / { root %[1]s; try_files /body =404; } }
}
`, dir, to, http1.TagField, tag, proxyAt, clearAt, tlsAt, certificateFile(t, dir, p))
	file := filepath.Join(dir, "config")
	must.Do(t, os.WriteFile(file, []byte(config), 0o600))
	runUntilEnd(t, exec.CommandContext(t.Context(), nginx, "-c", file), proxyAt, clearAt, tlsAt)
	return proxyAt, clearAt, tlsAt
}

// The client is right about nginx as a server of HTTP/2, which ends each connection after 1000 requests, in the clear and in TLS; and
// nginx may stand between the endpoints of gRPC, whose calls are answered and counted alike by both.
func TestHTTP2Nginx(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, on := range pairings() {
		p := http2Params("grpc", 2, 4, 700, 3000)
		address, stop := httpServing(t, on.Server, p)
		asked := http2Params("http2", 2, 4, 0, 3000)
		asked.Token = p.Token
		proxyAt, clearAt, tlsAt := nginx2(t, p, address, trial2(t, asked).answer)
		p.Address = proxyAt
		c := must.Get(loopback.KindOf(over(on.Client), "grpc").Dial(t.Context(), p, nil))(must.Named(t, on))
		if s := stop(); c.Messages == 0 || c.Messages != s.Messages || c.Window.Failed != 0 || s.Refused != 0 {
			t.Errorf("%s: %d and %d calls, %d refused, %v", on, c.Messages, s.Messages, s.Refused, c.Notes)
		}
		for secured, at := range map[string]string{study.Off: clearAt, study.On: tlsAt} {
			q := asked
			q.Address, q.TLS = at, secured
			c := must.Get(http2Requests{path: on.Client}.Dial(t.Context(), q, nil))(must.Named(t, on))
			must.True(t, c.Messages != 0 && c.Window.Failed == 0 && len(c.Notes) == 0, "%s, TLS %s: %d messages, %v", on, secured, c.Messages, c.Notes)
		}
	}
}

// HAProxy may stand between the endpoints of HTTP/2 and gRPC.
func TestHTTP2HAProxy(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		testneed.Missing(t, testneed.HAProxy, err)
	}
	for _, on := range pairings() {
		for _, kind := range []string{"http2", "grpc"} {
			p := http2Params(kind, 2, 4, 700, 3000)
			address, stop := httpServing(t, on.Server, p)
			p.Address = nstest.FreePort(t).String()
			file := filepath.Join(t.TempDir(), "config")
			must.Do(t, os.WriteFile(file, fmt.Appendf(nil, "defaults\n  mode http\n  timeout client 60s\n  timeout server 60s\n  timeout connect 5s\n  retries 0\nfrontend proxy\n  bind %s proto h2\n  default_backend ours\nbackend ours\n  server ours %s proto h2\n", p.Address, address), 0o600))
			runUntilEnd(t, exec.CommandContext(t.Context(), haproxy, "-db", "-f", file), p.Address)
			c := must.Get(loopback.KindOf(over(on.Client), kind).Dial(t.Context(), p, nil))(must.Named(t, on))
			if s := stop(); c.Messages == 0 || c.Messages != s.Messages || c.Window.Failed != 0 || s.Refused != 0 {
				t.Errorf("%s, %s: %d and %d messages, %d refused, %v", on, kind, c.Messages, s.Messages, s.Refused, c.Notes)
			}
		}
	}
}
