//go:build linux

package lab

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"tare/internal/runid"
)

// slotSocket begins the name of the abstract Unix socket that reserves a slot. All users
// use the same names, so that the kernel rejects a second bind.
const slotSocket = "@tare-slot/"

// ErrFull reports that all slots are in use.
var ErrFull = errors.New("every address slot of this machine is in use by a run; wait for one to end")

// Claim is an address slot on this machine that no other run has. The kernel frees the slot
// when the process dies.
type Claim struct {
	ID      string // of the run
	Slot    int
	release func()
}

// NewClaim reserves a free slot for the run with this id. It returns ErrFull if there is
// none.
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

// Release frees the slot. It may be called again.
func (c *Claim) Release() {
	if c.release != nil {
		c.release()
		c.release = nil
	}
}

// Standalone returns a claim for labs without a run: it creates a run id and reserves a
// slot; Release frees both.
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
