package mesh

import (
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"net/netip"
	"time"
)

// The types of Nebula's PEM blocks.
const (
	certificateBlock = "NEBULA CERTIFICATE V2"
	privateKeyBlock  = "NEBULA X25519 PRIVATE KEY"
)

// curve25519 is the curve of all keys: X25519 for hosts, Ed25519 for the authority.
const curve25519 byte = 0

// contents is the signed part of a certificate of version 2 (cert/cert_v2.asn1 of Nebula).
type contents struct {
	Name           string   `asn1:"tag:0,utf8"`
	Networks       [][]byte `asn1:"tag:1,optional,omitempty"`
	UnsafeNetworks [][]byte `asn1:"tag:2,optional,omitempty"`
	IsCA           bool     `asn1:"tag:4,optional"`
	NotBefore      int64    `asn1:"tag:5"` // seconds since 1970
	NotAfter       int64    `asn1:"tag:6"`
	Issuer         []byte   `asn1:"tag:7,optional,omitempty"` // fingerprint of the authority's certificate
}

// certificate is contents with what is signed beside them.
type certificate struct {
	Contents  asn1.RawValue // with its tag, 0
	PublicKey []byte        `asn1:"tag:2"`
	Signature []byte        `asn1:"tag:3"`
}

// validity is the time in which a certificate is valid.
type validity struct{ from, until time.Time }

// anyTime is valid on any machine. The keys of a run end with it. Two machines that build the mode
// together derive the same authority, whatever their clocks show.
func anyTime() validity {
	return validity{time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// authority is what signs the hosts' certificates of a run.
type authority struct {
	private     ed25519.PrivateKey
	certificate certificate
	valid       validity
}

// newAuthority returns the authority whose key is made of 32 random bytes.
func newAuthority(random []byte, valid validity) (authority, error) {
	a := authority{private: ed25519.NewKeyFromSeed(random), valid: valid}
	public, ok := a.private.Public().(ed25519.PublicKey)
	if !ok {
		return a, fmt.Errorf("generate a key: its public key is a %T", a.private.Public())
	}
	var err error
	a.certificate, err = a.sign(contents{Name: "tare", IsCA: true}, public)
	return a, err
}

// sign completes the contents of a certificate for a public key, and signs them.
func (a authority) sign(c contents, public []byte) (certificate, error) {
	c.NotBefore, c.NotAfter = a.valid.from.Unix(), a.valid.until.Unix()
	text, err := asn1.MarshalWithParams(c, "tag:0")
	if err != nil {
		return certificate{}, fmt.Errorf("encode a certificate: %w", err)
	}
	return certificate{asn1.RawValue{FullBytes: text}, public, ed25519.Sign(a.private, append(append(text[:len(text):len(text)], curve25519), public...))}, nil
}

// fingerprint identifies a certificate.
func (c certificate) fingerprint() []byte {
	sum := sha256.New()
	for _, part := range [][]byte{c.Contents.FullBytes, {curve25519}, c.PublicKey, c.Signature} {
		sum.Write(part)
	}
	return sum.Sum(nil)
}

// text encodes a certificate as Nebula reads it.
func (c certificate) text() (string, error) {
	der, err := asn1.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode a certificate: %w", err)
	}
	return encode(certificateBlock, der), nil
}

// credentials are what a host's process proves itself with, and checks the other by.
type credentials struct{ authority, certificate, private string }

// String hides the private key.
func (credentials) String() string { return "credentials" }

// GoString hides the private key in %#v.
func (credentials) GoString() string { return "credentials" }

// issue returns the credentials of a host whose key is made of 32 random bytes: its addresses in
// the overlay, with the overlay's prefix lengths, and the subnets behind it.
func (a authority) issue(name string, own, behind []netip.Prefix, random []byte) (credentials, error) {
	key, err := ecdh.X25519().NewPrivateKey(random)
	if err != nil {
		return credentials{}, fmt.Errorf("generate a key: %w", err)
	}
	c := contents{Name: name, Issuer: a.certificate.fingerprint()}
	for _, list := range []struct {
		from []netip.Prefix
		to   *[][]byte
	}{{own, &c.Networks}, {behind, &c.UnsafeNetworks}} {
		for _, p := range list.from {
			network, err := p.MarshalBinary()
			if err != nil {
				return credentials{}, fmt.Errorf("encode %s: %w", p, err)
			}
			*list.to = append(*list.to, network)
		}
	}
	signed, err := a.sign(c, key.PublicKey().Bytes())
	if err != nil {
		return credentials{}, err
	}
	issued := credentials{private: encode(privateKeyBlock, key.Bytes())}
	if issued.certificate, err = signed.text(); err != nil {
		return issued, err
	}
	issued.authority, err = a.certificate.text()
	return issued, err
}

func encode(kind string, bytes []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
}
