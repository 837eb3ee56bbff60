package relay

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Credentials are what a proxy needs for mutual TLS, in DER. Private is a secret: String does
// not print it, and it is passed to a proxy over its stdin.
type Credentials struct {
	Authority   []byte `json:"authority"`
	Certificate []byte `json:"certificate"`
	Private     []byte `json:"private"`
}

// String hides the private key.
func (Credentials) String() string { return "credentials" }

// GoString hides the private key in %#v.
func (Credentials) GoString() string { return "credentials" }

// lifetime is how long certificates are valid: longer than any run, with an hour for a clock
// that is set back.
const lifetime = 400 * 24 * time.Hour

// NameOf is the name in the certificate of a side.
func NameOf(s Side) string { return string(s) + ".proxy.tare" }

// Issue creates a certificate authority and the credentials of both sides. The authority's
// private key is not kept.
func Issue(now time.Time) (client, server *Credentials, err error) {
	authority, err := newCertificate("authority of a run of tare", now)
	if err != nil {
		return nil, nil, err
	}
	authority.template.IsCA, authority.template.BasicConstraintsValid, authority.template.KeyUsage = true, true, x509.KeyUsageCertSign
	root, err := authority.sign(authority)
	if err != nil {
		return nil, nil, err
	}
	issue := func(s Side) (*Credentials, error) {
		leaf, err := newCertificate(NameOf(s), now)
		if err != nil {
			return nil, err
		}
		leaf.template.DNSNames = []string{NameOf(s)}
		leaf.template.KeyUsage = x509.KeyUsageDigitalSignature
		leaf.template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		if s == Server {
			leaf.template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}
		text, err := leaf.sign(authority)
		if err != nil {
			return nil, err
		}
		private, err := x509.MarshalPKCS8PrivateKey(leaf.key)
		return &Credentials{Authority: root, Certificate: text, Private: private}, err
	}
	if client, err = issue(Client); err != nil {
		return nil, nil, err
	}
	server, err = issue(Server)
	return client, server, err
}

// certificate is a certificate to be signed, with its key.
type certificate struct {
	template x509.Certificate
	key      *ecdsa.PrivateKey
}

func newCertificate(name string, now time.Time) (*certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("generate a serial number: %w", err)
	}
	return &certificate{x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime)}, key}, nil
}

// sign returns the certificate in DER.
func (c *certificate) sign(by *certificate) ([]byte, error) {
	text, err := x509.CreateCertificate(rand.Reader, &c.template, &by.template, c.key.Public(), by.key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return text, nil
}

// security is what a proxy uses for each connection to the other.
type security struct{ config *tls.Config }

// errCredentials hides what is wrong with credentials: the text could contain a part of a key.
var errCredentials = errors.New("the proxy's credentials are not a certificate and its key")

func (c *Credentials) load() (*security, error) {
	private, err := x509.ParsePKCS8PrivateKey(c.Private)
	if err != nil {
		return nil, errCredentials
	}
	root, err := x509.ParseCertificate(c.Authority)
	if err != nil {
		return nil, errCredentials
	}
	roots := x509.NewCertPool()
	roots.AddCert(root)
	return &security{&tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{c.Certificate}, PrivateKey: private}},
		MinVersion:   tls.VersionTLS13,
		// As in service meshes. Every connection has a full handshake, and no message follows it.
		CurvePreferences:            []tls.CurveID{tls.X25519},
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true,
		RootCAs:                     roots, ServerName: NameOf(Server),
		ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert,
	}}, nil
}

// State is what two proxies negotiated.
type State struct {
	Version string `json:"version"`
	Suite   string `json:"suite"`
	Curve   string `json:"curve"`
	Mutual  bool   `json:"mutual"` // both have verified the other's certificate
}

// String describes the state.
func (s State) String() string {
	proof := "without a verified certificate"
	if s.Mutual {
		proof = "mutual"
	}
	return fmt.Sprintf("%s, %s, key exchange %s, %s", s.Version, s.Suite, s.Curve, proof)
}

// secure makes a connection to the other proxy one of TLS.
func (r *Relay) secure(ctx context.Context, tcp *net.TCPConn) (halfConn, error) {
	raw := &recordConn{TCPConn: tcp, into: &r.counts.records}
	make := tls.Client
	if r.side == Server {
		make = tls.Server
	}
	conn := make(raw, r.security.config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	raw.phase.Store(int32(forwarding))
	r.counts.handshake(conn.ConnectionState())
	return &secured{conn, raw}, nil
}

// handshake counts a handshake and what was negotiated.
func (c *counts) handshake(s tls.ConnectionState) {
	c.handshakes.Add(1)
	got := State{tls.VersionName(s.Version), tls.CipherSuiteName(s.CipherSuite), s.CurveID.String(), len(s.VerifiedChains) > 0}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.states == nil {
		c.states = map[State]bool{}
	}
	c.states[got] = true
}

// secured is a connection of TLS whose close_notify is not taken for payload.
type secured struct {
	*tls.Conn
	raw *recordConn
}

// CloseWrite ends the direction by a close_notify.
func (s *secured) CloseWrite() error {
	s.raw.phase.Store(int32(closing))
	return s.Conn.CloseWrite()
}
