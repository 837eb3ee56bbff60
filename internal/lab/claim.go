//go:build linux

package lab

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Prefix begins the name of everything a run makes, followed by the run's id.
const Prefix = "tare-"

// A claim is two abstract Unix sockets, as /proc/net/unix names them: one for
// the slot, whose name is the same for everybody, so that the kernel refuses it
// twice; one for the id, which the slot's name therefore cannot hold.
const (
	slotSocket = "@tare-slot/"
	runSocket  = "@tare-run/"
)

// idBytes is the length of an id before it is written in hex.
const idBytes = 4

// ErrFull means that all slots are taken.
var ErrFull = errors.New("every address slot of this machine is taken by a run; wait for one to end")

// Claim is a run's place on this machine: its id and a slot of addresses that no
// other run has. Nothing can connect to the sockets that hold it, and the kernel
// lets go of them when the process dies, however it dies.
type Claim struct {
	ID   string
	Slot int
	fds  []int
}

// NewClaim takes a free slot for a new id.
func NewClaim() (Claim, error) {
	raw := make([]byte, idBytes)
	if _, err := rand.Read(raw); err != nil {
		return Claim{}, fmt.Errorf("draw a run id: %w", err)
	}
	c := Claim{ID: hex.EncodeToString(raw)}
	if err := c.bind(runSocket + c.ID); err != nil {
		return Claim{}, err
	}
	for c.Slot = range Slots {
		err := c.bind(slotSocket + strconv.Itoa(c.Slot))
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			c.Release()
			return Claim{}, err
		}
	}
	c.Release()
	return Claim{}, ErrFull
}

func (c *Claim) bind(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		if err = unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err == nil {
			c.fds = append(c.fds, fd)
			return nil
		}
		unix.Close(fd)
	}
	return fmt.Errorf("claim %s: %w", name, err)
}

// Release gives the slot and the id back.
func (c *Claim) Release() {
	for _, fd := range c.fds {
		unix.Close(fd)
	}
	c.fds = nil
}

// Running lists the ids of the runs alive on this machine, this one included.
func Running() ([]string, error) {
	data, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, fmt.Errorf("list running runs: %w", err)
	}
	var ids []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if id, ok := strings.CutPrefix(fields[len(fields)-1], runSocket); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
