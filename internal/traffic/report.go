package traffic

import (
	"math"
	"strconv"
	"strings"
	"time"

	"tare/internal/result"
)

// Report is what one endpoint measured in a trial: what the trial's record has of the endpoint, and
// what only the evaluation needs. Counts are over the whole trial unless stated otherwise; Window is
// the timed part after the warm-up. Of End, Sent is what was handed to the kernel; of several
// connections, Congestion, MSS, RTT and the buffers are those of the first.
type Report struct {
	result.End
	Connections int              `json:"connections"`
	Messages    int64            `json:"messages"`            // requests or datagrams sent, or responses
	Together    int              `json:"together,omitempty"`  // how many messages may share a packet; 0 for one
	Content     int64            `json:"content,omitempty"`   // of HTTP: bytes of Received that a proxy cannot leave out, see web
	Failed      int64            `json:"failed,omitempty"`    // of HTTP: requests of the client that failed
	Forwarded   int64            `json:"forwarded,omitempty"` // of HTTP: requests with X-Forwarded-For at a server with Params.Host
	Refused     int              `json:"refused"`             // peers without the token
	Traffic     float64          `json:"traffic"`             // seconds during which payload was sent or received
	Window      Window           `json:"window"`
	TCP         TCP              `json:"tcp"`
	Datagrams   *Datagrams       `json:"datagrams,omitempty"` // of the UDP workloads; replaces those of End, which both endpoints decide
	Attempts    *result.Attempts `json:"attempts,omitempty"`  // of a client over TCP, nil if unknown
	Held        *Held            `json:"held,omitempty"`      // of a bulk transfer over TCP, nil if unknown
	CPUWait     *float64         `json:"cpu_wait,omitempty"`  // seconds that its threads were ready but had no CPU, nil if unknown
	Tool        *ToolRun         `json:"tool,omitempty"`      // of an external generator
	Notes       []result.Note    `json:"notes,omitempty"`     // circumstances that matter for reading the values
}

// Held is what the path of a bulk transfer still held when its window ended: in the sender's buffer, in
// queues and in flight. A slow path can hold seconds of data. Of exchanges it has only the round trip.
type Held struct {
	Streams   int           `json:"streams"`   // connections
	Bytes     int64         `json:"bytes"`     // sent and not delivered
	Delivered int64         `json:"delivered"` // bytes in the window
	Elapsed   time.Duration `json:"elapsed"`   // the length of the window
	RTT       time.Duration `json:"rtt"`       // least round trip of a connection or exchange; 0 if unknown
}

// Time is how long the path needs for all that it held, at the rate of the window.
func (h *Held) Time() time.Duration { return h.For(h.Bytes) }

// For is how long the path needs for n bytes, at the rate of the window.
func (h *Held) For(n int64) time.Duration {
	return time.Duration(float64(n) / float64(max(1, h.Delivered)) * float64(h.Elapsed))
}

// Plus returns what several connections, or the paths of several pairs, held at the same time.
func (h *Held) Plus(g *Held) *Held {
	switch {
	case h == nil:
		return g
	case g == nil:
		return h
	}
	return &Held{Streams: h.Streams + g.Streams, Bytes: h.Bytes + g.Bytes, Delivered: h.Delivered + g.Delivered, Elapsed: max(h.Elapsed, g.Elapsed), RTT: max(h.RTT, g.RTT)}
}

// ToolRun is how an external generator was run at one endpoint.
type ToolRun struct {
	result.ToolEnd
	Name   string `json:"name"`
	Output string `json:"output"`         // the output that the values were read from
	Lost   *int64 `json:"lost,omitempty"` // datagrams missing by the tool's own count, nil if it has none
}

// Window is the timed part of a trial at one endpoint.
type Window struct {
	Seconds  float64   `json:"seconds"`
	Sent     int64     `json:"sent"`              // payload bytes
	Received int64     `json:"received"`          // payload bytes
	Messages int64     `json:"messages"`          // exchanges completed
	Failed   int64     `json:"failed,omitempty"`  // exchanges that had no answer in time
	Series   []float64 `json:"series"`            // bytes or exchanges per second
	Interval float64   `json:"interval"`          // of Series, seconds
	Profile  *Profile  `json:"profile,omitempty"` // at the receiver or client, nil without slices
	Streams  []int64   `json:"streams"`           // bytes received by each stream, or sent if this endpoint only sends
	Slots    int64     `json:"slots"`             // sends that the schedule required, 0 without a schedule
	Missed   int64     `json:"missed"`            // of Slots, not sent: this endpoint was too slow
	Limits   *Limits   `json:"limits"`            // of the sender of a TCP stream, nil if the kernel does not report it

	RTT       *Distribution `json:"rtt,omitempty"`        // from request to response
	Connect   *Distribution `json:"connect,omitempty"`    // until the connection is established
	FirstByte *Distribution `json:"first_byte,omitempty"` // from the start of the connection

	Event *EventSeen `json:"event,omitempty"` // of the client of a trial with an event
}

// Peer receives the report of the other endpoint when that has finished. The controller forwards
// it. A workload that does not need it ignores it.
type Peer <-chan Report

// TCP is what the kernel counted for all connections together.
type TCP struct {
	Wire     uint64 `json:"wire"`     // payload bytes sent, retransmissions included
	Resent   uint64 `json:"resent"`   // of Wire, bytes retransmitted
	Received uint64 `json:"received"` // payload bytes received
	Segments uint64 `json:"segments"` // sent, acknowledgements included
}

// SeriesInterval is the interval of Window.Series.
const SeriesInterval = 100 * time.Millisecond

// Limits is the time that a sender spent limited by each cause: seconds of its timed window, summed
// over its connections and slices. The four parts add up to Seconds.
//
// The sender's kernel measures them (TCP_INFO, since Linux 4.10). A connection without unsent or
// unacknowledged data is limited by the application. Any other is limited by the receiver's window,
// by its own send buffer, or by neither. Neither means the network: the congestion window, which
// depends on queues, losses and CPUs of the path, and which a sender cannot break down further. The
// kernel counts in ticks of 1 to 10 ms, so a single short window is imprecise.
type Limits struct {
	Seconds       float64 `json:"seconds"`
	Application   float64 `json:"application"`
	ReceiveWindow float64 `json:"receive_window"`
	SendBuffer    float64 `json:"send_buffer"`
	Network       float64 `json:"network"`
}

// Plus returns the sum of both. A nil Limits is unknown and adds nothing.
func (l *Limits) Plus(m *Limits) *Limits {
	switch {
	case l == nil:
		return m
	case m == nil:
		return l
	}
	return &Limits{
		Seconds: l.Seconds + m.Seconds, Application: l.Application + m.Application,
		ReceiveWindow: l.ReceiveWindow + m.ReceiveWindow, SendBuffer: l.SendBuffer + m.SendBuffer, Network: l.Network + m.Network,
	}
}

// ThroughputMetric names the metric of a search at a loss goal. The name has the goal in percent,
// and "strict" if no step may exceed the goal: throughput_0, throughput_0_5, throughput_1_strict.
func ThroughputMetric(loss float64, strict bool) string {
	percent := strconv.FormatFloat(math.Round(loss*1e8)/1e6, 'f', -1, 64)
	name := "throughput_" + strings.ReplaceAll(percent, ".", "_")
	if strict {
		name += "_strict"
	}
	return name
}
