package secure

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// name is the name in the certificate of a trial.
const name = "trial.tare"

// lifetime is how long before and after its creation a certificate is valid. A client that knows the key does not
// check that: the clocks of two machines may differ.
const lifetime = 24 * time.Hour

// Certificate makes a key of ECDSA over P-256 and a certificate of it that shows the token of a trial: its subject
// key identifier is a keyed hash of the public key, from which the token cannot be derived. Both are in memory only.
// The error is that of the system's random numbers.
func Certificate(token string, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("generate a key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("encode a public key: %w", err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: now.Add(-lifetime), NotAfter: now.Add(lifetime), SubjectKeyId: mark(token, public),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	text, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("sign a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key}, nil
}

// mark is what the subject key identifier of a certificate with that public key must be in the trial with that token.
func mark(token string, public []byte) []byte {
	h := hmac.New(sha256.New, []byte(token))
	h.Write([]byte("tls certificate "))
	h.Write(public)
	return h.Sum(nil)[:20]
}

// check returns what is wrong with a server's certificate. That the server has its private key, the handshake shows.
func check(token string, shown []*x509.Certificate, now time.Time) error {
	if len(shown) == 0 {
		return &Error{"the server shows no certificate"}
	}
	c := shown[0]
	switch at := "2006-01-02 15:04 UTC"; {
	case hmac.Equal(c.SubjectKeyId, mark(token, c.RawSubjectPublicKeyInfo)):
		return nil
	case now.After(c.NotAfter):
		return &Error{fmt.Sprintf("the certificate of %q expired at %s, and it is not that of the trial: another server answers, or a proxy ends TLS", subject(c), c.NotAfter.UTC().Format(at))}
	case now.Before(c.NotBefore):
		return &Error{fmt.Sprintf("the certificate of %q is valid from %s on, and it is not that of the trial: another server answers, or a proxy ends TLS", subject(c), c.NotBefore.UTC().Format(at))}
	}
	return &Error{fmt.Sprintf("the certificate of %q is not that of the trial: another server answers, or a proxy ends TLS", subject(c))}
}

// longestSubject is how many bytes of a foreign name are shown.
const longestSubject = 60

// subject names a certificate.
func subject(c *x509.Certificate) string {
	of := c.Subject.CommonName
	if len(c.DNSNames) > 0 {
		of = c.DNSNames[0]
	}
	return of[:min(len(of), longestSubject)]
}
