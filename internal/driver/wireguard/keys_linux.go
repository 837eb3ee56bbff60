package wireguard

import (
	"crypto/ecdh"
	"encoding/hex"
	"fmt"
)

// key is a private or public Curve25519 key. It is encoded in hex, as in WireGuard's
// configuration protocol, and never printed.
type key [32]byte

// String hides the key.
func (key) String() string { return "a key" }

// GoString hides the key in %#v.
func (key) GoString() string { return "a key" }

// MarshalText encodes a key for the process that uses it.
func (k key) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, k[:]), nil }

// UnmarshalText decodes what MarshalText wrote.
func (k *key) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(k) {
		return fmt.Errorf("a key has %d digits; it must have %d", len(text), hex.EncodedLen(len(k)))
	}
	_, err := hex.Decode(k[:], text)
	return err
}

// pair is a private key and its public key.
type pair struct{ private, public key }

// newPair returns the keys that 32 random bytes are.
func newPair(random []byte) (pair, error) {
	k, err := ecdh.X25519().NewPrivateKey(random)
	if err != nil {
		return pair{}, fmt.Errorf("generate a key: %w", err)
	}
	return pair{key(k.Bytes()), key(k.PublicKey().Bytes())}, nil
}
