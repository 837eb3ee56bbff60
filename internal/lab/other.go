//go:build !linux

package lab

import (
	"tare/internal/linuxnet"
	"tare/internal/runid"
)

// Claim is an address slot of a run. It exists on Linux only.
type Claim struct {
	ID   string
	Slot int
}

// NewClaim returns ErrSystem.
func NewClaim(string) (Claim, error) { return Claim{}, linuxnet.ErrSystem }

// Release does nothing.
func (*Claim) Release() {}

// Alive returns no runs.
func Alive() (runid.Claims, error) { return nil, nil }

// Up returns ErrSystem.
func Up(Spec) (*Lab, error) { return nil, linuxnet.ErrSystem }

// Close does nothing.
func (*Lab) Close() error { return nil }

// Leftover is a resource of a run that is no longer alive.
type Leftover struct {
	Run, What string
	Owner     int
	Unmarked  bool
}

// Leftovers returns nothing: runs create nothing on this system.
func Leftovers() ([]Leftover, error) { return nil, nil }

// Remove does nothing.
func (Leftover) Remove() error { return nil }

// Standalone returns ErrSystem.
func Standalone() (Claim, error) { return Claim{}, linuxnet.ErrSystem }
