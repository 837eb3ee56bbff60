//go:build !linux

package lab

import "tare/internal/linuxnet"

// Claim is a run's place on this machine. Only Linux gives any out.
type Claim struct {
	ID   string
	Slot int
}

// NewClaim says why there is none.
func NewClaim(string) (Claim, error) { return Claim{}, linuxnet.ErrSystem }

// Release has nothing to give back.
func (*Claim) Release() {}

// Alive lists the runs alive on this machine: none.
func Alive() ([]string, error) { return nil, nil }

// Up says why no lab can be made.
func Up(Spec) (*Lab, error) { return nil, linuxnet.ErrSystem }

// Close has nothing to take down.
func (*Lab) Close() error { return nil }

// Leftover is something of a run that is no longer alive.
type Leftover struct {
	Run, What string
}

// Leftovers finds nothing: no run was here to leave it.
func Leftovers() ([]Leftover, error) { return nil, nil }

// Remove has nothing to remove.
func (Leftover) Remove() error { return nil }

// Standalone says why there is no claim.
func Standalone() (Claim, error) { return Claim{}, linuxnet.ErrSystem }
