package locate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/engine"
	"tare/internal/testkit/must"
)

// noEngine sets an environment in which the docker CLI finds no engine, and returns its
// configuration directory.
func noEngine(t *testing.T) string {
	t.Helper()
	for _, name := range []string{envHost, envContext, envCerts, envTLS, envVerify, "DOCKER_API_VERSION"} {
		t.Setenv(name, "")
	}
	dir := t.TempDir()
	t.Setenv(envConfig, dir)
	return dir
}

// fakeEngine answers like an engine of that API version.
func fakeEngine(version string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", version)
		w.Header().Set("Ostype", "linux")
		w.Header().Set("Content-Type", "application/json")
		_, path, versioned := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v"), "/")
		if !versioned || r.URL.Path == "/_ping" {
			path = strings.TrimPrefix(r.URL.Path, "/")
		}
		answers := map[string]any{
			"version": map[string]any{"Version": "19.03.1", "ApiVersion": version, "Os": "linux", "Arch": "amd64"},
			"info":    map[string]any{"ServerVersion": "19.03.1", "OSType": "linux", "Architecture": "x86_64"},
		}
		if path == "_ping" {
			return
		}
		if err := json.NewEncoder(w).Encode(answers[path]); err != nil {
			panic(http.ErrAbortHandler)
		}
	})
}

// serve answers on a listener until the test ends.
func serve(t *testing.T, l net.Listener, h http.Handler) {
	t.Helper()
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }() // ends with Close
	t.Cleanup(func() { _ = s.Close() })
}

// onSocket serves on a Unix socket and returns its path.
func onSocket(t *testing.T, h http.Handler) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "docker.sock")
	serve(t, must.Get(net.Listen("unix", path))(t), h)
	return path
}

// onPort serves on a local TCP port, with TLS if configured, and returns its address.
func onPort(t *testing.T, config *tls.Config, h http.Handler) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := l.Addr().String()
	if config != nil {
		l = tls.NewListener(l, config)
	}
	serve(t, l, h)
	return address
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	var a authority
	a.cert, a.key = certificate(t, nil, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, Subject: pkix.Name{CommonName: "test CA"}})
	return a
}

func certificate(t *testing.T, by *authority, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	c.SerialNumber, c.NotBefore = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour)
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	signer, with := c, key
	if by != nil {
		signer, with = by.cert, by.key
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, c, signer, key.Public(), with))(t)
	return must.Get(x509.ParseCertificate(der))(t), key
}

// identity returns a certificate for 127.0.0.1, valid on both sides.
func (a authority) identity(t *testing.T, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	c := &x509.Certificate{
		Subject: pkix.Name{CommonName: "end"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(c)
	}
	cert, key := certificate(t, &a, c)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// demanding returns the TLS configuration of dockerd --tlsverify.
func (a authority) demanding(t *testing.T, own tls.Certificate) *tls.Config {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
}

// store writes ca.pem and, if given, cert.pem and key.pem.
func (a authority) store(t *testing.T, dir string, own *tls.Certificate) {
	t.Helper()
	write := func(name, kind string, der []byte) {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	must.Do(t, os.MkdirAll(dir, 0o700))
	write("ca.pem", "CERTIFICATE", a.cert.Raw)
	if own == nil {
		return
	}
	key := must.Get(x509.MarshalPKCS8PrivateKey(own.PrivateKey))(t)
	write("cert.pem", "CERTIFICATE", own.Certificate[0])
	write("key.pem", "PRIVATE KEY", key)
}

// writeContext creates a context like `docker context create` and returns the directory of its TLS
// material.
func writeContext(t *testing.T, config, name, host string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	meta := must.Get(json.Marshal(map[string]any{
		"Name": name, "Metadata": map[string]any{},
		"Endpoints": map[string]any{"docker": map[string]any{"Host": host, "SkipTLSVerify": false}},
	}))(t)
	dir := filepath.Join(config, "contexts", "meta", id)
	must.Do(t, os.MkdirAll(dir, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(dir, "meta.json"), meta, 0o600))
	return filepath.Join(config, "contexts", "tls", id, "docker")
}

// connects expects an engine at a target, and its name.
func connects(t *testing.T, target, name string) {
	t.Helper()
	e, err := Connect(t.Context(), target)
	if err != nil {
		t.Fatalf("connect to %q: %v", target, err)
	}
	defer e.Disconnect() //nolint:errcheck // idle connections only
	if e.Name != name {
		t.Errorf("%q is called %q, want %q", target, e.Name, name)
	}
	if err := e.Negotiate(t.Context()); err != nil {
		t.Errorf("%q does not answer again: %v", target, err)
	}
}

// refused expects an error on one line for a target with all the words.
func refused(t *testing.T, target string, words ...string) {
	t.Helper()
	_, err := Connect(t.Context(), target)
	u, ok := engine.AsUnavailable(err)
	if !ok {
		t.Fatalf("connect to %q: %v is not an Unavailable error", target, err)
	}
	t.Log(err)
	for _, field := range []string{u.Engine, u.Tried, u.Reason, u.Fix} {
		if field == "" {
			t.Errorf("%+v has an empty field", *u)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
	must.Contain(t, err.Error(), words...)
}

// The order of the docker CLI: DOCKER_HOST, DOCKER_CONTEXT, the current context, the default.
func TestConnectAsTheDockerCLI(t *testing.T) {
	config := noEngine(t)
	one, two, three := onSocket(t, fakeEngine("1.41")), onSocket(t, fakeEngine("1.41")), onSocket(t, fakeEngine("1.99"))
	writeContext(t, config, "second", "unix://"+two)
	writeContext(t, config, "third", "unix://"+three)
	connects(t, "unix://"+one, "unix://"+one)
	connects(t, "docker:second", "docker:second")
	must.Do(t, os.WriteFile(filepath.Join(config, "config.json"), []byte(`{"auths":{},"currentContext":"third"}`), 0o600))
	connects(t, "", "docker, current context third")
	t.Setenv(envContext, "second")
	connects(t, "docker", "docker, DOCKER_CONTEXT second")
	t.Setenv(envHost, "unix://"+one)
	connects(t, "docker", "docker (DOCKER_HOST)")
	connects(t, "docker:default", "docker:default")
}

func TestConnectNegotiates(t *testing.T) {
	noEngine(t)
	for answers, want := range map[string]string{"1.40": "1.40", "1.41": "1.41", "1.99": ""} {
		got := must.Get(Connect(t.Context(), "unix://"+onSocket(t, fakeEngine(answers))))(t).Versions.API
		if want == "" && (got == answers || got < "1.50") || want != "" && got != want {
			t.Errorf("API %s of an engine was used as %s", answers, got)
		}
	}
}

func TestConnectWithTLS(t *testing.T) {
	config := noEngine(t)
	ca := newAuthority(t)
	own := ca.identity(t, nil)
	address := onPort(t, ca.demanding(t, own), fakeEngine("1.41"))
	ca.store(t, writeContext(t, config, "safe", "tcp://"+address), &own)
	connects(t, "docker:safe", "docker:safe")

	certs := t.TempDir()
	ca.store(t, certs, &own)
	t.Setenv(envCerts, certs)
	t.Setenv(envVerify, "1")
	connects(t, "tcp://"+address, "tcp://"+address)
	t.Setenv(envHost, "tcp://"+address)
	connects(t, "", "docker (DOCKER_HOST)")
}

// TLS problems are distinguished, each with its fix.
func TestConnectTLSRefused(t *testing.T) {
	noEngine(t)
	ca, other := newAuthority(t), newAuthority(t)
	own := ca.identity(t, nil)
	safe := "tcp://" + onPort(t, ca.demanding(t, own), fakeEngine("1.41"))
	open := "tcp://" + onPort(t, nil, fakeEngine("1.41"))
	named := "tcp://" + onPort(t, ca.demanding(t, ca.identity(t, func(c *x509.Certificate) { c.IPAddresses = nil; c.DNSNames = []string{"engine.example"} })), fakeEngine("1.41"))
	old := "tcp://" + onPort(t, ca.demanding(t, ca.identity(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })), fakeEngine("1.41"))

	refused(t, safe, "TLS refused", "requires TLS", "DOCKER_TLS_VERIFY=1")

	certs := func(a authority, own *tls.Certificate) {
		dir := t.TempDir()
		a.store(t, dir, own)
		t.Setenv(envCerts, dir)
	}
	t.Setenv(envVerify, "1")
	certs(ca, &own)
	refused(t, open, "TLS refused", "does not use TLS", "unset DOCKER_TLS_VERIFY")
	refused(t, named, "TLS refused", "127.0.0.1", "use a name")
	refused(t, old, "TLS refused", "expired", "renew")
	certs(other, &own)
	refused(t, safe, "not signed by the configured CA", "ca.pem")
	certs(ca, nil)
	refused(t, safe, "does not accept the client's certificate", "key.pem")
	stranger := other.identity(t, nil)
	certs(ca, &stranger)
	refused(t, safe, "does not accept the client's certificate", "key.pem")
	t.Setenv(envCerts, t.TempDir())
	refused(t, safe, "there is no ca.pem", "DOCKER_CERT_PATH")
}

func TestConnectRefused(t *testing.T) {
	config := noEngine(t)
	dir := t.TempDir()
	plain := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(plain, nil, 0o600))
	// The socket of an engine that has exited remains.
	dead := filepath.Join(dir, "dead.sock")
	l := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"}))(t)
	l.SetUnlinkOnClose(false)
	l.Close()
	closed := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	closed.Close()
	web := onSocket(t, http.NotFoundHandler())
	broken := onSocket(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"message":"the disk\nis full"}`, http.StatusInternalServerError)
	}))
	writeContext(t, config, "empty", "")

	refused(t, "unix://"+filepath.Join(dir, "none.sock"), "no such socket", "systemctl start docker")
	refused(t, "unix://"+dead, "no engine listens", "systemctl start docker")
	refused(t, "unix://"+plain, "is not a socket")
	refused(t, "unix://"+web, "not a Docker Engine")
	refused(t, "unix://"+broken, "the disk", "journalctl")
	refused(t, "unix://"+onSocket(t, fakeEngine("1.39")), "1.39", "1.40", "upgrade")
	refused(t, "tcp://"+closed.Addr().String(), "connection refused", "-H tcp://")
	refused(t, "tcp://engine.invalid:2375", "engine.invalid")
	refused(t, "docker:missing", "no such context", "docker context ls")
	refused(t, "docker:empty", "no address")
	t.Setenv("DOCKER_API_VERSION", "1.24")
	refused(t, "unix://"+onSocket(t, fakeEngine("1.41")), "DOCKER_API_VERSION", "1.24")

	t.Setenv("DOCKER_API_VERSION", "")
	must.Do(t, os.WriteFile(filepath.Join(config, "config.json"), []byte("{"), 0o600))
	refused(t, "docker", "config.json", "--engine")
	t.Setenv(envHost, "unix://"+dead)
	refused(t, "docker", "DOCKER_HOST", "no engine listens")

	for _, target := range []string{"lab", "podman", "docker:", "ftp://host", "unix://", "tcp"} {
		if _, err := Connect(t.Context(), target); err == nil || !strings.Contains(err.Error(), "does not name an engine") {
			t.Errorf("%q: %v", target, err)
		}
	}
}

// A connection to an engine that never answers times out.
func TestConnectEndsWithItsContext(t *testing.T) {
	noEngine(t)
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Connect(ctx, "tcp://"+l.Addr().String()); err == nil {
		t.Fatal("connected to nothing")
	} else if _, ok := engine.AsUnavailable(err); !ok {
		t.Errorf("%v is not an Unavailable error", err)
	}
}
