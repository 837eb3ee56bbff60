package kubetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority issues the certificates and tokens of a cluster.
type authority struct {
	dir    string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	tokens strings.Builder
}

// validity is longer than any test.
const validity = 24 * time.Hour

func newAuthority(t testing.TB, dir string) *authority {
	t.Helper()
	a := &authority{dir: dir}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubetest"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validity), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	a.key = a.issue(t, "ca", a.cert)
	// Service accounts' tokens are signed with a key of their own.
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, "sa.pub", "PUBLIC KEY", public)
	a.write(t, "sa.key", "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) write(t testing.TB, name, kind string, content []byte) {
	t.Helper()
	if err := os.WriteFile(a.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// issue writes NAME.crt and NAME.key. A certificate of the authority itself is signed with its
// own key.
func (a *authority) issue(t testing.TB, name string, cert *x509.Certificate) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	raw, err := x509.CreateCertificate(rand.Reader, cert, a.cert, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, name+".crt", "CERTIFICATE", raw)
	a.write(t, name+".key", "EC PRIVATE KEY", private)
	return key
}

// server issues a certificate for a server at addresses.
func (a *authority) server(t testing.TB, name string, at ...netip.Addr) {
	t.Helper()
	cert := a.leaf(name, "")
	cert.ExtKeyUsage, cert.DNSNames = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	for _, addr := range at {
		cert.IPAddresses = append(cert.IPAddresses, net.IP(addr.AsSlice()))
	}
	a.issue(t, name, cert)
}

// client issues a certificate for a user of a group.
func (a *authority) client(t testing.TB, name, group string) {
	t.Helper()
	cert := a.leaf(name, group)
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	a.issue(t, name, cert)
}

func (a *authority) leaf(name, group string) *x509.Certificate {
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validity), KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if group != "" {
		c.Subject.Organization = []string{group}
	}
	return c
}

// kubeconfig writes NAME.kubeconfig for a user with a token of its own, and returns its path.
// proxy may be empty.
func (a *authority) kubeconfig(t testing.TB, name, server, user, group, proxy string) string {
	t.Helper()
	token := rand.Text()
	fmt.Fprintf(&a.tokens, "%s,%s,%s,%q\n", token, user, user, group)
	cluster := fmt.Sprintf("server: %q, certificate-authority: %q", server, a.path("ca.crt"))
	if proxy != "" {
		cluster += fmt.Sprintf(", proxy-url: %q", proxy)
	}
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: cluster, cluster: {%s}}]
users: [{name: %s, user: {token: %s}}]
contexts: [{name: %s, context: {cluster: cluster, user: %s}}]
current-context: %s
`, cluster, name, token, name, name, name)
	path := a.path(name + ".kubeconfig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
