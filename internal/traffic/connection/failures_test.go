package connection

import (
	"testing"
	"time"

	"tare/internal/testkit/must"
)

// A handshake lost a packet if it took the time of the retransmission timer, or if the kernel says that it repeated a
// segment; the kernel is not asked about short ones.
func TestLateHandshake(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		took     time.Duration
		repeated int64
		late     bool
	}{{ms, 1, false}, {499 * ms, 1, false}, {600 * ms, 0, false}, {600 * ms, 1, true}, {990 * ms, 1, true}, {1000 * ms, 0, true}} {
		asked := false
		late := Late(tt.took, func() int64 { asked = true; return tt.repeated })
		must.EqualFor(t, tt, tt.late, late)
		must.True(t, !asked || tt.took >= 500*ms, "%s: the kernel was asked", tt.took)
	}
}
