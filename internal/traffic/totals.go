package traffic

import (
	"slices"

	"tare/internal/result"
)

// AddSlice adds the report of the next slice of the same trial. The windows are consecutive.
func (r *Report) AddSlice(s Report) {
	seconds, series := r.Window.Seconds+s.Window.Seconds, append(r.Window.Series, s.Window.Series...)
	traffic, profile := r.Traffic+s.Traffic, r.Window.Profile.Plus(s.Window.Profile)
	before := r.Window.Streams
	*r = Sum(*r, s)
	r.Held = s.Held // at the end of the last one
	r.Window.Streams = slices.Clone(s.Window.Streams)
	for i := range min(len(before), len(r.Window.Streams)) {
		r.Window.Streams[i] += before[i]
	}
	r.Window.Seconds, r.Window.Series, r.Window.Profile, r.Traffic = seconds, series, profile, traffic
}

// Sum combines the reports of several pairs of endpoints that ran at the same time. Counts add up
// and the windows coincide. Values that cannot be added (segment size, smoothed round trip,
// buffers) are those of the last report.
func Sum(a, b Report) Report {
	b.Connections += a.Connections
	b.Sent += a.Sent
	b.Received += a.Received
	b.Messages += a.Messages
	b.Content += a.Content
	b.Failed += a.Failed
	b.Forwarded += a.Forwarded
	b.Refused += a.Refused
	b.Traffic = max(a.Traffic, b.Traffic)
	b.TCP.Wire += a.TCP.Wire
	b.TCP.Resent += a.TCP.Resent
	b.TCP.Received += a.TCP.Received
	b.TCP.Segments += a.TCP.Segments
	b.CPUWait = sumKnown(a.CPUWait, b.CPUWait)
	b.Notes = mergeNotes(a.Notes, b.Notes)
	b.Datagrams = a.Datagrams.plus(b.Datagrams)
	b.Held = a.Held.Plus(b.Held)
	b.Attempts = sumAttempts(a.Attempts, b.Attempts)
	w, v := &b.Window, a.Window
	w.Seconds = max(w.Seconds, v.Seconds)
	w.Sent += v.Sent
	w.Received += v.Received
	w.Messages += v.Messages
	w.Slots += v.Slots
	w.Missed += v.Missed
	w.Failed += v.Failed
	w.Interval = max(w.Interval, v.Interval)
	w.Series = AddSeries(v.Series, w.Series)
	w.Streams = append(slices.Clone(v.Streams), w.Streams...)
	if sum := sumKnown(a.Retransmits, b.Retransmits); sum != nil {
		b.Retransmits = sum
	}
	w.Limits = v.Limits.Plus(w.Limits)
	w.RTT, w.Connect, w.FirstByte = mergeDistributions(v.RTT, w.RTT), mergeDistributions(v.Connect, w.Connect), mergeDistributions(v.FirstByte, w.FirstByte)
	return b
}

// mergeNotes returns both lists of notes without duplicates.
func mergeNotes(a, b []result.Note) []result.Note {
	all := slices.Clone(a)
	for _, n := range b {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// AddSeries adds two series element by element. The shorter one is padded with zeros.
func AddSeries(a, b []float64) []float64 {
	if len(a) < len(b) {
		a, b = b, a
	}
	a = slices.Clone(a)
	for i, v := range b {
		a[i] += v
	}
	return a
}

// sumKnown returns the sum of two values, nil if either is unknown.
func sumKnown[T int64 | float64](a, b *T) *T {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}

// Concat combines the reports of two consecutive trials of the same pair of endpoints, such as the
// steps of a search. Counts and times add up, and so do the counts of each stream and flow.
func Concat(a, b Report) Report {
	flows := a.Datagrams
	a.AddSlice(b)
	if flows == nil || b.Datagrams == nil || len(flows.Flows) != len(b.Datagrams.Flows) {
		return a
	}
	a.Datagrams = flows.then(b.Datagrams, a.Datagrams)
	return a
}
