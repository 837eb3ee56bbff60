package wireguard

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// key is one of Curve25519, private or public. It is written in hex, as WireGuard's own
// configuration protocol has it, and never printed.
type key [32]byte

// String keeps a key out of any text.
func (key) String() string { return "a key" }

// GoString does the same for %#v.
func (key) GoString() string { return "a key" }

// MarshalText writes a key for the process that is to have it.
func (k key) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, k[:]), nil }

// UnmarshalText reads what MarshalText wrote.
func (k *key) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(k) {
		return fmt.Errorf("a key of %d digits; want %d", len(text), hex.EncodedLen(len(k)))
	}
	_, err := hex.Decode(k[:], text)
	return err
}

// pair is a private key and its public one.
type pair struct{ private, public key }

// newPair makes keys for one run.
func newPair() (pair, error) {
	k, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("make a key: %w", err)
	}
	return pair{key(k.Bytes()), key(k.PublicKey().Bytes())}, nil
}
