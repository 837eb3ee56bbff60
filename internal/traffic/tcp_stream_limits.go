package traffic

import "time"

// limitsOf is what a kernel booked within elapsed; false where it does not tell. Ticks
// may be more than what passed between two readings: they are cut to that.
func limitsOf(before, after chronograph, elapsed time.Duration) (Limits, bool) {
	if !before.known || !after.known || elapsed <= 0 {
		return Limits{}, false
	}
	all := elapsed.Seconds()
	busy := min(max(0, (after.busy-before.busy).Seconds()), all)
	window := min(max(0, (after.receiveWindow-before.receiveWindow).Seconds()), busy)
	buffer := min(max(0, (after.sendBuffer-before.sendBuffer).Seconds()), busy-window)
	return Limits{Seconds: all, Application: all - busy, ReceiveWindow: window, SendBuffer: buffer, Network: busy - window - buffer}, true
}
