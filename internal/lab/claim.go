//go:build linux

package lab

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"tare/internal/runid"
)

// slotSocket begins the name of the abstract Unix socket that holds a slot. The name is
// the same for everybody, so that the kernel refuses it twice.
const slotSocket = "@tare-slot/"

// ErrFull means that all slots are taken.
var ErrFull = errors.New("every address slot of this machine is in use by a run; wait for one to end")

// Claim is the place of a run's labs on this machine: a slot of addresses that no other
// run has. The kernel frees the slot when the process dies, however it dies.
type Claim struct {
	ID      string // of the run
	Slot    int
	release func()
}

// NewClaim takes a free slot for a run, named by its id. ErrFull where there is none.
func NewClaim(run string) (Claim, error) {
	for slot := range Slots {
		release, err := runid.Bind(slotSocket + strconv.Itoa(slot))
		if err == nil {
			return Claim{ID: run, Slot: slot, release: release}, nil
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			return Claim{}, fmt.Errorf("claim an address slot: %w", err)
		}
	}
	return Claim{}, ErrFull
}

// Release gives the slot back. It may be called again.
func (c *Claim) Release() {
	if c.release != nil {
		c.release()
		c.release = nil
	}
}

// Standalone is the claim of labs that are all there is to a run: its identity and its
// slot in one, both given back by Release.
func Standalone() (Claim, error) {
	run, err := runid.New()
	if err != nil {
		return Claim{}, err
	}
	c, err := NewClaim(run.ID)
	if err != nil {
		run.Release()
		return Claim{}, err
	}
	slot := c.release
	c.release = func() {
		slot()
		run.Release()
	}
	return c, nil
}
