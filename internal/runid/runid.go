// Package runid gives each run its identity: an id that is part of the name of everything
// the run creates, and on Linux a marker that the run is alive. Other runs and `tare gc`
// use it to distinguish what belongs to a live run from what a dead one left behind.
package runid

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
)

// Prefix begins the name of everything that a run creates; the run's id follows.
const Prefix = "tare-"

// idBytes is the length of an id before it is written in hex.
const idBytes = 4

// Run is the identity of a run in this process.
type Run struct {
	ID      string // eight hex digits
	release func()
}

// New generates an id and, where the system supports it, marks the run as alive until
// Release is called or this process dies. It fails if there are no random numbers or the
// socket cannot be created.
func New() (Run, error) {
	raw := make([]byte, idBytes)
	if _, err := rand.Read(raw); err != nil {
		return Run{}, fmt.Errorf("generate a run id: %w", err)
	}
	r := Run{ID: hex.EncodeToString(raw)}
	var err error
	r.release, err = hold(r.ID)
	return r, err
}

// Release removes the marker. It may be called again.
func (r *Run) Release() {
	if r.release != nil {
		r.release()
		r.release = nil
	}
}

// IsID reports whether s has the form of a run's id.
func IsID(s string) bool {
	return len(s) == 2*idBytes && strings.Trim(s, "0123456789abcdef") == ""
}
