package tool

import (
	"fmt"
	"math"
	"time"

	"tare/internal/result"
	"tare/internal/traffic"
)

// parsedOutput is the output of one endpoint of a stream, in one form for all tools.
type parsedOutput struct {
	flows      []flow
	merged     bool    // one flow stands for all streams, which the tool does not distinguish
	interval   float64 // as requested, seconds
	congestion string
	mss        int
	sendBuffer int // granted, bytes, 0 unknown
	recvBuffer int
	notes      []result.Note
}

// flow is one connection or flow in one direction.
type flow struct {
	sends       bool
	rows        []row
	bytes       int64   // of the whole trial
	lost        *int64  // datagrams missing by the tool's own count
	reordered   int64   // datagrams
	rtt         float64 // mean, seconds, 0 unknown
	hasSegments bool    // rows have retransmits
}

// row is one interval of a flow.
type row struct {
	start, seconds float64
	bytes          int64
	retransmits    int64
}

func (s parsedOutput) lost() *int64 {
	var sum *int64
	for _, f := range s.flows {
		if f.lost != nil {
			n := *f.lost
			if sum != nil {
				n += *sum
			}
			sum = &n
		}
	}
	return sum
}

// report creates a report. The timed window consists of the intervals whose middle is in it, so
// that the tool needs no warm-up of its own.
func (s parsedOutput) report(j job) (traffic.Report, error) {
	r := traffic.Report{
		End:   result.End{CPU: j.Pinned(), Congestion: s.congestion, SendBuffer: s.sendBuffer, ReceiveBuffer: s.recvBuffer, MSS: s.mss},
		Notes: s.notes,
	}
	r.Window.Interval = s.interval
	if j.udp() {
		r.Datagrams = &traffic.Datagrams{}
	}
	for _, way := range []struct{ does, sends bool }{{j.sends(), true}, {j.receives(), false}} {
		flows := s.direction(way.sends)
		if !way.does {
			if len(flows) > 0 {
				return r, fmt.Errorf("its output has %d streams of a direction that was not requested", len(flows))
			}
			continue
		}
		if len(flows) != j.Streams && !s.merged || len(flows) == 0 {
			return r, fmt.Errorf("its output has %d streams instead of %d", len(flows), j.Streams)
		}
		if err := addFlows(&r, j, flows, s.interval, way.sends); err != nil {
			return r, err
		}
		r.Connections = j.Streams
	}
	if s.merged && j.Streams > 1 {
		r.Window.Streams = nil
	}
	r.Notes = append(r.Notes, rateNote(j, r)...)
	return r, nil
}

func (s parsedOutput) direction(sends bool) []flow {
	var out []flow
	for _, f := range s.flows {
		if f.sends == sends {
			out = append(out, f)
		}
	}
	return out
}

// addFlows adds the flows of one direction. Messages stay 0: otherwise the path proof would require
// a TCP-sized header for each.
func addFlows(r *traffic.Report, j job, flows []flow, interval float64, sends bool) error {
	w, err := cutWindow(flows, interval, j.Warmup, j.Duration)
	if err != nil {
		return err
	}
	var total int64
	for _, f := range flows {
		total += f.bytes
		for _, v := range f.rows {
			r.Traffic = math.Max(r.Traffic, v.start+v.seconds)
		}
	}
	switch {
	case sends:
		r.Sent, r.Window.Sent, r.Retransmits = total, w.bytes, w.retransmits
		if rtt := flows[0].rtt; rtt > 0 {
			r.RTT = &rtt
		}
		r.Window.Seconds, r.Window.Series, r.Window.Streams = w.seconds, w.series, w.streams
	default: // after the sender: the window shows what this endpoint received
		r.Received, r.Window.Received = total, w.bytes
		r.Window.Seconds, r.Window.Series, r.Window.Streams = w.seconds, w.series, w.streams
	}
	if !j.udp() {
		return nil
	}
	for i, f := range flows {
		n := int64(math.Round(float64(f.bytes) / float64(j.PayloadSize)))
		countDatagrams(r.Datagrams, i, n, sends)
		if n := traffic.Count(r.Datagrams.Reordered) + f.reordered; n != 0 {
			r.Datagrams.Reordered = &n
		}
	}
	return nil
}

// window is the timed part of one direction.
type window struct {
	seconds     float64
	bytes       int64
	series      []float64
	streams     []int64
	retransmits *int64
}

// cutWindow returns the timed window of the rows. All flows use the times of the flow with the most
// rows. An interval of less than half the normal length, which the last one often is, is left out.
func cutWindow(flows []flow, interval float64, warmup, duration time.Duration) (window, error) {
	clock := flows[0].rows
	for _, f := range flows {
		if len(f.rows) > len(clock) {
			clock = f.rows
		}
	}
	w := window{streams: make([]int64, len(flows))}
	var resent int64
	counted := true
	for k, c := range clock {
		middle := c.start + c.seconds/2
		if middle < warmup.Seconds() || middle > (warmup+duration).Seconds() || c.seconds < interval/2 {
			continue
		}
		var sum int64
		for i, f := range flows {
			counted = counted && f.hasSegments
			if k < len(f.rows) {
				sum += f.rows[k].bytes
				w.streams[i] += f.rows[k].bytes
				resent += f.rows[k].retransmits
			}
		}
		w.seconds += c.seconds
		w.bytes += sum
		w.series = append(w.series, float64(sum)/c.seconds)
	}
	if w.seconds <= 0 {
		return w, fmt.Errorf("its output has no interval between %s and %s: it ended early", warmup, warmup+duration)
	}
	if counted {
		w.retransmits = &resent
	}
	return w, nil
}

// countDatagrams adds n datagrams of flow i. All count, because a tool does not report which of
// them were sent within the window.
func countDatagrams(d *traffic.Datagrams, i int, n int64, sends bool) {
	for len(d.Flows) <= i {
		d.Flows = append(d.Flows, traffic.FlowCount{})
	}
	if sends {
		d.Flows[i].Sent, d.Flows[i].SentCounted = n, n
		return
	}
	d.Flows[i].Received, d.Flows[i].ReceivedCounted = n, n
}
