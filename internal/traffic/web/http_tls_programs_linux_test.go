package web

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
	"tare/internal/testkit/testneed"
	"tare/internal/traffic"
	"tare/internal/traffic/http1"
)

// certificateFile writes a certificate of the trial with its key, as programs read them.
func certificateFile(t *testing.T, dir string, p traffic.Params) string {
	t.Helper()
	c := certificateOf(t, p)
	key := must.Get(x509.MarshalECPrivateKey(c.PrivateKey.(*ecdsa.PrivateKey)))(t)
	text := slices.Concat(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key}))
	file := filepath.Join(dir, "trial.pem")
	must.Do(t, os.WriteFile(file, text, 0o600))
	return file
}

// program returns where a program is.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		testneed.Missing(t, testneed.Web, err)
	}
	return path
}

// curl is answered in TLS 1.3, over one connection for two requests, and is refused with older versions.
func TestHTTPTLSServerOfCurl(t *testing.T) {
	t.Parallel()
	curl := program(t, "curl")
	for _, n := range implementations() {
		p := tlsParams(1, 5000, 3000, study.On)
		trial := must.Get(newHTTPTrial(p))(t)
		address, stop := httpServing(t, n, p)
		ask := func(args ...string) (string, error) {
			args = append([]string{"-skf", "--noproxy", "*", "-m", "20", "-o", "/dev/null", "-w", "%{http_code} %{size_download} %{num_connects} %{http_version}\n", "-H", http1.TagField + ": " + trial.ask, "https://" + address, "-o", "/dev/null", "https://" + address}, args...)
			out, err := exec.CommandContext(t.Context(), curl, args...).CombinedOutput()
			return string(out), err
		}
		for _, args := range [][]string{{"-d", strings.Repeat("x", 5000)}, {"--no-alpn"}} {
			if out, err := ask(args...); err != nil || out != "200 3000 1 1.1\n200 3000 0 1.1\n" {
				t.Errorf("%s: curl %.20v: %v, %s", n.name, args, err, out)
			}
		}
		if out, err := ask("--tls-max", "1.2"); err == nil {
			t.Errorf("%s: TLS 1.2: %s", n.name, out)
		}
		if r := stop(); r.Messages != 4 || r.Refused == 0 {
			t.Errorf("%s: %+v", n.name, r)
		}
	}
}

// OpenSSL's client gets a session and resumes it where that is on, and none where it is off.
func TestHTTPTLSServerOfOpenSSL(t *testing.T) {
	t.Parallel()
	openssl := program(t, "openssl")
	for _, n := range implementations() {
		for resumption, want := range map[string]string{study.On: "Reused, TLSv1.3", study.Off: "New, TLSv1.3"} {
			p := tlsParams(1, 0, 100, study.Off)
			p.Resumption = resumption
			trial := must.Get(newHTTPTrial(p))(t)
			address, stop := httpServing(t, n, p)
			session := filepath.Join(t.TempDir(), "session")
			var out []byte
			for _, use := range []string{"-sess_out", "-sess_in"} {
				if _, err := os.Stat(session); use == "-sess_in" && err != nil {
					must.EqualFor(t, n.name+": "+err.Error(), study.Off, resumption)
					break
				}
				c := exec.CommandContext(t.Context(), openssl, "s_client", "-connect", address, "-alpn", "http/1.1", "-ign_eof", use, session)
				c.Stdin = strings.NewReader("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + http1.TagField + ": " + trial.ask + "\r\n\r\n")
				var err error
				if out, err = c.CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", n.name, err, out)
				}
				must.ContainFor(t, n.name, string(out), "HTTP/1.1 200 OK", "ALPN protocol: http/1.1", "subject=CN = trial.tare", "Server public key is 256 bit")
			}
			must.ContainFor(t, n.name+", resumption "+resumption, string(out), want)
			if r := stop(); r.Messages == 0 || r.Refused != 0 {
				t.Errorf("%s: %+v", n.name, r)
			}
		}
	}
}

// The client accepts OpenSSL's server with a certificate of the trial, and so reads its page, which is not that of the trial.
func TestHTTPTLSClientOfOpenSSL(t *testing.T) {
	t.Parallel()
	openssl := program(t, "openssl")
	p := tlsParams(1, 0, 100, study.Off)
	p.Duration = time.Minute
	for _, n := range implementations() {
		for args, want := range map[string]string{
			"-tls1_3":                   "another server answers on this port",
			"-tls1_2":                   "it ended TLS with the alert: protocol version not supported",
			"-tls1_3 -Verify 1":         "it ended TLS with the alert: certificate required",
			"-tls1_3 -groups secp521r1": "it ended TLS with the alert: handshake failure",
			"-tls1_3 -num_tickets 8":    "another server answers on this port",
			"-tls1_3 -groups X25519:P-256 -ciphersuites TLS_CHACHA20_POLY1305_SHA256": "another server answers on this port",
		} {
			p.Address = nstest.FreePort(t).String()
			c := exec.CommandContext(t.Context(), openssl, append([]string{"s_server", "-www", "-quiet", "-accept", p.Address, "-cert", certificateFile(t, t.TempDir(), p)}, strings.Fields(args)...)...)
			runUntilEnd(t, c, p.Address)
			_, err := httpRequests{n}.Dial(t.Context(), p, nil)
			must.FailLine(t, n.name+" "+args, err, want)
		}
	}
}

// HAProxy may end TLS between the endpoints with a certificate of the trial: it then speaks TLS to the server, too, or not.
// Requests over kept connections and over one each are all answered and counted alike by both; sessions are resumed.
func TestHTTPTLSForeignPrograms(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		testneed.Missing(t, testneed.HAProxy, err)
	}
	for i, keep := range []string{study.On, study.Off} {
		for j, on := range covering(i) {
			for _, behind := range []string{study.On, study.Off} {
				p := tlsParams(3, quantity.Size(j*5000), 3000, keep)
				if keep == study.Off {
					p.Resumption = study.On
				}
				server := p
				server.TLS, server.Resumption = behind, ""
				address, stop := httpServing(t, on.Server, server)
				dir := t.TempDir()
				p.Address = nstest.FreePort(t).String()
				config := fmt.Sprintf("global\n  tune.ssl.default-dh-param 2048\ndefaults\n  mode http\n  timeout client 60s\n  timeout server 60s\n  timeout connect 5s\n  retries 0\nfrontend proxy\n  bind %s ssl crt %s alpn http/1.1\n  default_backend ours\nbackend ours\n  server ours %s", p.Address, certificateFile(t, dir, p), address)
				if behind == study.On {
					config += " ssl verify none alpn http/1.1"
				}
				file := filepath.Join(dir, "config")
				must.Do(t, os.WriteFile(file, []byte(config+"\n"), 0o600))
				runUntilEnd(t, exec.CommandContext(t.Context(), haproxy, "-db", "-f", file), p.Address)
				c := must.Get(httpRequests{on.Client}.Dial(t.Context(), p, nil))(must.Named(t, on))
				s := stop()
				if c.Messages == 0 || c.Messages != s.Messages || c.Window.Failed != 0 || s.Refused != 0 || keep == study.On && c.Connections != 3 || len(c.Notes) > 0 {
					t.Errorf("%s, keep_alive %s, behind it %s: %d and %d messages over %d connections, %d refused, %v", on, keep, behind, c.Messages, s.Messages, c.Connections, s.Refused, c.Notes)
				}
			}
		}
	}
}
