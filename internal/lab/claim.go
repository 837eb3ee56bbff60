//go:build linux

package lab

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"strconv"
	"strings"

	"tare/internal/runid"
)

// slotSocket begins the name of the abstract Unix socket that reserves a slot. The number of
// the slot and a random text follow, so that no other user can take the name beforehand.
const slotSocket = "@tare-slot/"

// ErrFull reports that all slots are in use.
var ErrFull = errors.New("every address slot of this machine is in use by a run; wait for one to end")

// Claim is an address slot on this machine that no other run of root or of the same user has,
// and no run of another user unless these have all slots. The kernel frees the slot when the
// process dies.
type Claim struct {
	ID      string // of the run
	Slot    int
	release func()
}

// claimTries bounds how often NewClaim tries again because another process claims the same slot
// at the same moment.
const claimTries = 100

// NewClaim reserves a free slot for the run with this id. It returns ErrFull if there is
// none.
func NewClaim(run string) (Claim, error) {
	for try := range claimTries {
		free, err := FreeSlots()
		if err != nil {
			return Claim{}, err
		}
		if len(free) == 0 {
			break
		}
		slot := free[0]
		if try > 0 { // two processes that try the same slot again and again would never end
			slot = free[mathrand.IntN(len(free))] //nolint:gosec // it needs not be secret
		}
		c, err := ClaimSlot(run, slot)
		if !errors.Is(err, ErrSlotTaken) {
			return c, err
		}
	}
	return Claim{}, ErrFull
}

// ErrSlotTaken reports that another process claims a slot.
var ErrSlotTaken = errors.New("the address slot is in use")

// ClaimSlot reserves a slot for a run, or returns ErrSlotTaken if another process claims it.
func ClaimSlot(run string, slot int) (Claim, error) {
	name := slotSocket + strconv.Itoa(slot) + "/" + rand.Text()
	release, err := runid.Bind(name)
	if err != nil {
		return Claim{}, fmt.Errorf("claim an address slot: %w", err)
	}
	// Of two processes that claim a slot at once, at least one sees the other here.
	taken, err := takenSlots(name)
	if err == nil && !taken[slot] {
		return Claim{ID: run, Slot: slot, release: release}, nil
	}
	release()
	if err == nil {
		err = ErrSlotTaken
	}
	return Claim{}, err
}

// FreeSlots lists the slots that nobody has, else those that only other users have: runs of
// different users do not see each other's namespaces, and no user can take all slots of
// another.
func FreeSlots() ([]int, error) {
	taken, err := takenSlots("")
	if err != nil {
		return nil, err
	}
	var free, foreign []int
	for slot := range Slots {
		ours, claimed := taken[slot]
		switch {
		case !claimed:
			free = append(free, slot)
		case !ours:
			foreign = append(foreign, slot)
		}
	}
	if len(free) == 0 {
		free = foreign
	}
	return free, nil
}

// takenSlots returns the slots that are claimed, except by the socket named except, and
// whether root or this user is among those who have them.
func takenSlots(except string) (map[int]bool, error) {
	sockets, err := runid.Bound(slotSocket)
	if err != nil {
		return nil, fmt.Errorf("list the address slots in use: %w", err)
	}
	taken := map[int]bool{}
	for _, s := range sockets {
		number, _, _ := strings.Cut(strings.TrimPrefix(s.Name, slotSocket), "/")
		slot, err := strconv.Atoi(number)
		if err != nil || s.Name == except {
			continue
		}
		ours := s.User == 0 || s.User == os.Geteuid() || s.User == runid.UnknownUser
		taken[slot] = taken[slot] || ours
	}
	return taken, nil
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
