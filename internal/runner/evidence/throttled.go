package evidence

import (
	"time"

	"tare/internal/observe/netstack"
	"tare/internal/result"
	"tare/internal/warning"
)

// NoteThrottled records for how long the kernel has stopped client and server because a CPU limit
// was used up, where their agents can read that, and adds a note if it has.
func (t *Trial) NoteThrottled() {
	var stopped time.Duration
	known := false
	for _, s := range t.stacks {
		periods, counted := s.moved.Counters[netstack.ThrottledPeriods]
		if !counted {
			continue
		}
		known = true
		took := time.Duration(s.moved.Counters[netstack.ThrottledTime]) //nolint:gosec // far below 2^63
		stopped += took
		if periods > 0 {
			t.Record.Notes = append(t.Record.Notes, warning.NewNote(warning.Throttled,
				"the kernel stopped %s in %d periods, for %.3g s in all, because its CPU limit was used up: rates show the limit, and the longest round trips are these pauses; raise the limit",
				warning.Said(s.place.Name), periods, took.Seconds()))
		}
	}
	if known && t.Record.Machine != nil {
		t.setMachine(result.MachineThrottled, stopped.Seconds())
	}
}
