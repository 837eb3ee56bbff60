package lab

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net"
)

// The names of the two hosts.
const (
	SideA = "a"
	SideB = "b"
)

// Link says how a lab is split between two machines. Each machine builds the whole lab, from
// the same data, but only one of the two hosts is real on it: its underlay device is a
// macvlan device of the machine's network card. What a host needs to know of the other is
// the same on both machines, so that the real hosts fit together.
type Link struct {
	Side   string // SideA or SideB: the host that is real on this machine
	Parent string // the machine's device that leads to the other machine
	Seed   []byte // SeedBytes random bytes that both machines share; secret
	IPv6   bool   // both kernels support it
	// Meet waits until the other machine has come as far.
	Meet func(ctx context.Context) error
}

// SeedBytes is the length of a seed, and of a key of a lab.
const SeedBytes = 32

// LinkError is the error that a machine's link to the other cannot carry a lab.
type LinkError struct{ Reason string }

func (e *LinkError) Error() string { return e.Reason }

// Split reports whether the lab is split between two machines.
func (l *Lab) Split() bool { return l.Spec.Link != nil }

// Meet waits, in a split lab, until the other machine has come as far with the same mode.
func (l *Lab) Meet(ctx context.Context) error {
	if !l.Split() {
		return nil
	}
	return l.Spec.Link.Meet(ctx)
}

// Key returns a secret of the lab by its name: SeedBytes random bytes, which in a split lab
// are the same on both machines.
func (s Spec) Key(name string) ([]byte, error) {
	if s.Link != nil {
		return s.Link.derive("key " + name)
	}
	key := make([]byte, SeedBytes)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	return key, nil
}

// derive returns SeedBytes bytes for a purpose (HKDF, RFC 5869).
func (k *Link) derive(purpose string) ([]byte, error) {
	out, err := hkdf.Key(sha256.New, k.Seed, nil, "tare "+purpose, SeedBytes)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	return out, nil
}

// mac returns the MAC address of a device in a namespace of the lab: random, unicast and
// locally administered (IEEE 802, section 8.4).
func (k *Link) mac(namespace, device string) net.HardwareAddr {
	const length = 6
	sum := sha256.Sum256(fmt.Appendf(nil, "%x mac %s %s", k.Seed, namespace, device))
	mac := net.HardwareAddr(sum[:length])
	mac[0] = mac[0]&^0x01 | 0x02
	return mac
}
