package web

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
	"tare/internal/traffic/http1"
)

// foreignHTTP is a program that serves HTTP: as a proxy before to, and as a server with that body and tag.
type foreignHTTP struct {
	name   string
	need   testneed.Need
	args   func(config string) []string
	config func(dir, proxyAt, serverAt, to, tag string, body int) string
}

func foreignHTTPs() []foreignHTTP {
	return []foreignHTTP{
		{"haproxy", testneed.HAProxy, func(config string) []string { return []string{"-db", "-f", config} }, func(dir, proxyAt, serverAt, to, tag string, body int) string {
			return fmt.Sprintf(`defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
  option forwardfor
  retries 0
frontend proxy
  bind %s
  default_backend ours
backend ours
  server ours %s
frontend server
  bind %s
  http-request return status 200 content-type text/plain file %s hdr %s %s
`, proxyAt, to, serverAt, filepath.Join(dir, "body"), http1.TagField, tag)
		}},
		{"nginx", testneed.Web, func(config string) []string { return []string{"-c", config} }, func(dir, proxyAt, serverAt, to, tag string, body int) string {
			return fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log stderr;
events {}
http {
  access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
  upstream ours { server %[4]s; keepalive 8; }
  server { listen %[2]s; location / { proxy_pass http://ours; proxy_http_version 1.1; proxy_set_header Connection ""; } }
  server { listen %[3]s; location / { add_header %[5]s %[6]s; root %[1]s; try_files /body =404; } }
}
`, dir, proxyAt, serverAt, to, http1.TagField, tag)
		}},
	}
}

// start runs the program until the test ends, and waits until both its ports are open.
func (f foreignHTTP) start(t *testing.T, to, tag string, body int) (proxyAt, serverAt string) {
	t.Helper()
	program, err := exec.LookPath(f.name)
	if err != nil {
		testneed.Missing(t, f.need, err)
	}
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "body"), make([]byte, body), 0o600))
	proxyAt, serverAt = nstest.FreePort(t).String(), nstest.FreePort(t).String()
	config := filepath.Join(dir, "config")
	must.Do(t, os.WriteFile(config, []byte(f.config(dir, proxyAt, serverAt, to, tag, body)), 0o600))
	runUntilEnd(t, exec.CommandContext(t.Context(), program, f.args(config)...), proxyAt, serverAt)
	return proxyAt, serverAt
}

// runUntilEnd runs a program until the test ends, and waits until its ports are open.
func runUntilEnd(t *testing.T, cmd *exec.Cmd, ports ...string) {
	t.Helper()
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &words, &words
	must.Do(t, cmd.Start())
	ended := make(chan struct{})
	var exit error // when ended is closed
	go func() {
		exit = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	deadline := time.After(timelimit.Scaled(10 * time.Second))
	for _, at := range ports {
		for {
			c, err := net.Dial("tcp", at)
			if err == nil {
				c.Close()
				break
			}
			select {
			case <-ended:
				t.Fatalf("%s ended: %v: %s", cmd, exit, &words)
			case <-deadline:
				t.Fatalf("%s does not listen: %v", cmd, err)
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
}

// Proxies of other programs may stand between the endpoints: requests with and without bodies, over kept connections and
// over one each, are all answered and counted alike by both. The client is right about them as servers, too, and names
// their errors.
func TestHTTPForeignPrograms(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, f := range foreignHTTPs() {
		t.Run(f.name, func(t *testing.T) {
			for i, keep := range []string{study.On, study.Off} {
				for _, on := range covering(i) {
					p := httpParams(3, quantity.Size(i*5000), 3000, keep)
					trial := must.Get(newHTTPTrial(p))(t)
					address, stop := httpServing(t, on.Server, p)
					proxyAt, serverAt := f.start(t, address, trial.answer, 3000)
					p.Address = proxyAt
					c := must.Get(httpRequests{on.Client}.Dial(t.Context(), p, nil))(must.Named(t, on))
					s := stop()
					if c.Messages == 0 || c.Messages != s.Messages || c.Window.Failed != 0 || s.Refused != 0 || keep == study.On && c.Connections != 3 {
						t.Errorf("%s, keep_alive %s: %d and %d messages over %d connections, %d refused, %v", on, keep, c.Messages, s.Messages, c.Connections, s.Refused, c.Notes)
					}
					// The trial's server has gone: its requests end the trial, however long that is.
					gone := p
					gone.Duration = time.Minute
					_, err := httpRequests{on.Client}.Dial(t.Context(), gone, nil)
					if err == nil || !strings.Contains(err.Error(), "the answer is 503 Service Unavailable, as did") && !strings.Contains(err.Error(), "the answer is 502 Bad Gateway, as did") {
						t.Errorf("%s without a server: %v", f.name, err)
					}
					p.Address, p.RequestSize = serverAt, 0
					if c, err = (httpRequests{on.Client}).Dial(t.Context(), p, nil); err != nil || c.Messages == 0 || c.Window.Failed != 0 {
						t.Errorf("%s as a server: %d messages, %v, %v", f.name, c.Messages, c.Notes, err)
					}
				}
			}
		})
	}
}
