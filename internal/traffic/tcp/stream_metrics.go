package tcp

import (
	"slices"
	"time"

	"tare/internal/result"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
	"tare/internal/warning"
)

// tolerance is the share of missed slots from which a note reports them.
const tolerance = 0.001

func (stream) Metrics(p traffic.Params, client, server traffic.Report) (map[string]float64, *result.Series) {
	forward, reverse := server.Window, client.Window // at the receivers
	senders, receivers := []traffic.Report{client}, []traffic.Report{server}
	switch {
	case p.Both():
		senders, receivers = []traffic.Report{client, server}, []traffic.Report{client, server}
	case p.Reverse():
		senders, receivers = receivers, senders
	}
	m := map[string]float64{}
	var goodput, sent float64
	var bytes []float64
	var streams []int64
	several := false
	for _, r := range receivers {
		goodput += rate(r.Window.Received, r.Window.Seconds)
		bytes = traffic.AddSeries(bytes, r.Window.Series)
		streams = append(streams, r.Window.Streams...)
		several = several || len(r.Window.Streams) > 1
	}
	for _, r := range senders {
		sent += rate(r.Window.Sent, r.Window.Seconds)
	}
	m["goodput"], m["send_rate"] = goodput, sent
	if p.Both() {
		m["goodput_forward"], m["goodput_reverse"] = rate(forward.Received, forward.Seconds), rate(reverse.Received, reverse.Seconds)
	}
	if f, ok := fairness(streams); ok && several {
		m["fairness"] = f
	}
	if n, ok := retransmits(senders); ok {
		m["retransmits"] = float64(n)
	}
	bits := make([]float64, len(bytes))
	for i, v := range bytes {
		bits[i] = v * 8
	}
	return m, &result.Series{Metric: "goodput", Interval: receivers[0].Window.Interval, Values: bits}
}

// rate returns bytes over seconds in bit/s.
func rate(bytes int64, seconds float64) float64 { return float64(bytes) * 8 / seconds }

// retransmits sums the counts of the senders. If one did not count, the sum is unknown.
func retransmits(senders []traffic.Report) (int64, bool) {
	var sum int64
	for _, r := range senders {
		if r.Retransmits == nil {
			return 0, false
		}
		sum += *r.Retransmits
	}
	return sum, true
}

// fairness is Jain's index of the streams' shares, (sum x)^2 / (n sum x^2): 1 if all are equal, 1/n
// if one has everything (Jain, Chiu and Hawe, DEC-TR-301, 1984). Without payload it is unknown.
func fairness(streams []int64) (float64, bool) {
	var sum, squares float64
	for _, v := range streams {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	if squares == 0 {
		return 0, false
	}
	return sum * sum / (float64(len(streams)) * squares), true
}

// notes returns the notes of one endpoint.
func (w stream) notes(p traffic.Params, r traffic.Report) []result.Note {
	notes := slices.Clone(r.Notes)
	if p.Threads > 0 && w.path.threads == nil {
		notes = append(notes, warning.NewNote(warning.ThreadsNotSet,
			"%d threads were requested, but this endpoint used the portable implementation, which gives each connection a goroutine", p.Threads))
	}
	if n := r.Window; n.Slots > 0 && float64(n.Missed) > tolerance*float64(n.Slots) {
		notes = append(notes, warning.NewNote(warning.GeneratorLimited,
			"%s missed %d of %d writes of the requested rate of %d bit/s: TCP or this machine was slower", side(p), n.Missed, n.Slots, p.Rate))
	}
	return notes
}

// side names the sender that a note refers to.
func side(p traffic.Params) string {
	switch {
	case p.Both():
		return "a sender"
	case p.Reverse():
		return "the server"
	}
	return "the client"
}

// limitTimes returns the times that the kernel counted within elapsed; ok is false if it reports
// none. Ticks may add up to more than elapsed and are then limited to it.
func limitTimes(before, after socket.Chronograph, elapsed time.Duration) (traffic.Limits, bool) {
	if !before.Known || !after.Known || elapsed <= 0 {
		return traffic.Limits{}, false
	}
	all := elapsed.Seconds()
	busy := min(max(0, (after.Busy-before.Busy).Seconds()), all)
	window := min(max(0, (after.ReceiveWindow-before.ReceiveWindow).Seconds()), busy)
	buffer := min(max(0, (after.SendBuffer-before.SendBuffer).Seconds()), busy-window)
	return traffic.Limits{Seconds: all, Application: all - busy, ReceiveWindow: window, SendBuffer: buffer, Network: busy - window - buffer}, true
}
