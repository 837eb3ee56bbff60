package tcp

import (
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

// limitsOf is what a kernel booked within elapsed; false where it does not tell. Ticks
// may be more than what passed between two readings: they are cut to that.
func limitsOf(before, after socket.Chronograph, elapsed time.Duration) (traffic.Limits, bool) {
	if !before.Known || !after.Known || elapsed <= 0 {
		return traffic.Limits{}, false
	}
	all := elapsed.Seconds()
	busy := min(max(0, (after.Busy-before.Busy).Seconds()), all)
	window := min(max(0, (after.ReceiveWindow-before.ReceiveWindow).Seconds()), busy)
	buffer := min(max(0, (after.SendBuffer-before.SendBuffer).Seconds()), busy-window)
	return traffic.Limits{Seconds: all, Application: all - busy, ReceiveWindow: window, SendBuffer: buffer, Network: busy - window - buffer}, true
}
