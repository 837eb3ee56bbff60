// Package runid gives each run its identity: an id that everything made by the run
// carries in its name, and on Linux a sign that the run is alive, by which other runs
// and `tare gc` tell what belongs to a live run from what a dead one left behind.
package runid

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
)

// Prefix begins the name of everything a run makes, followed by the run's id.
const Prefix = "tare-"

// idBytes is the length of an id before it is written in hex.
const idBytes = 4

// Run is the identity of a run of this process.
type Run struct {
	ID      string // eight hex digits
	release func()
}

// New draws an id and, where the system has a way to show it, marks the run as alive
// until Release is called or this process dies, however it dies. Errors: no random
// numbers, or no socket.
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

// Release ends the run's life for others. It may be called again.
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
