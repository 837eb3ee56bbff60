package traffic

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Report is what one end saw of a trial. Counts are over the whole trial unless
// said otherwise; the window is the timed part behind the warm-up.
type Report struct {
	Connections   int        `json:"connections"`
	Sent          int64      `json:"sent"`     // payload bytes handed to the kernel
	Received      int64      `json:"received"` // payload bytes read
	Messages      int64      `json:"messages"` // requests or datagrams sent, or responses
	Refused       int        `json:"refused"`  // peers without the token
	Traffic       float64    `json:"traffic"`  // seconds with payload flowing
	Window        Window     `json:"window"`
	TCP           TCP        `json:"tcp"`
	Datagrams     *Datagrams `json:"datagrams,omitempty"` // of the UDP workloads
	SendBuffer    int        `json:"send_buffer"`         // granted, bytes
	ReceiveBuffer int        `json:"receive_buffer"`      // granted, bytes
	CPU           int        `json:"cpu"`                 // pinned to, -1 for none
	Tool          *ToolRun   `json:"tool,omitempty"`      // of an external generator
	Notes         []Note     `json:"notes,omitempty"`     // what a reader of the figures must know
}

// Note is a circumstance of a trial that bears on its figures. Codes are those
// of docs/warnings.md.
type Note struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// ToolRun is how an external generator was run at one end.
type ToolRun struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Command []string `json:"command"`
	Output  string   `json:"output"`         // what the figures were read from
	Lost    *int64   `json:"lost,omitempty"` // datagrams missing by the tool's own count, nil where it tells none
}

// Window is the timed part of a trial at one end.
type Window struct {
	Seconds     float64   `json:"seconds"`
	Sent        int64     `json:"sent"`        // payload bytes
	Received    int64     `json:"received"`    // payload bytes
	Messages    int64     `json:"messages"`    // exchanges completed
	Retransmits *int64    `json:"retransmits"` // segments, nil where not counted
	Series      []float64 `json:"series"`      // bytes or exchanges per second
	Interval    float64   `json:"interval"`    // of Series, seconds
	Streams     []int64   `json:"streams"`     // bytes received by each stream, or sent where this end only sends
	Slots       int64     `json:"slots"`       // sends that the schedule asked for, 0 without one
	Missed      int64     `json:"missed"`      // of Slots, not sent: this end could not keep up
	Limits      *Limits   `json:"limits"`      // of a TCP stream's sender, nil where the kernel does not tell

	RTT       *Distribution `json:"rtt,omitempty"`        // request to response
	Connect   *Distribution `json:"connect,omitempty"`    // until connected
	FirstByte *Distribution `json:"first_byte,omitempty"` // from the beginning of the connection
}

// Datagrams is the account of one end of a UDP workload. What it received counts
// only what the trial's own peer sent.
type Datagrams struct {
	Flows         []FlowCount `json:"flows"`
	Duplicates    int64       `json:"duplicates"`
	Reordered     int64       `json:"reordered"`      // arrived behind a later one
	ReorderExtent int64       `json:"reorder_extent"` // the furthest, in datagrams behind the newest
	Late          int64       `json:"late"`           // counted ones beyond the waiting time
	Foreign       int64       `json:"foreign"`        // not of this trial, or garbled: never counted
	Offloaded     bool        `json:"offloaded"`      // UDP segmentation (sender) or receive offload (receiver) was in force
	LargestBurst  int64       `json:"largest_burst"`  // most datagrams that left back to back

	// SocketDrops is what the kernel threw away at this end's sockets, for want of
	// room or otherwise, as their own counters say (SO_MEMINFO): datagrams, or
	// super-packets with receive offload. Nil where nobody counts.
	SocketDrops *int64 `json:"socket_drops,omitempty"`
	Retried     int64  `json:"retried,omitempty"` // sends that the kernel had no room for and that were made again
	Denied      int64  `json:"denied,omitempty"`  // sends that a filter of this end's host refused, made again as well
	Unread      int64  `json:"unread,omitempty"`  // datagrams of the trial that were still coming when this end stopped

	Departure *Distribution `json:"departure,omitempty"` // sender: how far behind its slot each send was
	Delay     *Distribution `json:"delay,omitempty"`     // receiver: one-way, where both ends share a clock
	Variation *Distribution `json:"variation,omitempty"` // receiver: |difference of successive delays| (RFC 3393 IPDV)
}

// FlowCount is one flow's account at one end. Counted ones were sent within the
// timed window; the sender marks them, so that both ends count the same.
type FlowCount struct {
	Sent            int64 `json:"sent"`
	SentCounted     int64 `json:"sent_counted"`
	Received        int64 `json:"received"` // distinct datagrams
	ReceivedCounted int64 `json:"received_counted"`
}

// Peer hands over the other end's report once that end has finished. The
// controller passes it on; a workload that needs no such totals ignores it.
type Peer <-chan Report

// TCP is what the kernel tells of the connections, summed where they add up and
// of the first where they do not.
type TCP struct {
	Congestion string  `json:"congestion_control"`
	MSS        int     `json:"mss"`
	RTT        float64 `json:"rtt"`      // smoothed, seconds
	Wire       uint64  `json:"wire"`     // payload bytes sent, retransmissions included
	Resent     uint64  `json:"resent"`   // of Wire, bytes sent again
	Received   uint64  `json:"received"` // payload bytes received
	Segments   uint64  `json:"segments"` // sent, acknowledgements included
}

// SeriesInterval is the grain of Window.Series.
const SeriesInterval = 100 * time.Millisecond

// Limits says where a sender's time went: seconds of its timed window, added up over
// its connections (and slices). The four parts add up to Seconds.
//
// They are what the sender's kernel books (TCP_INFO, since Linux 4.10): a connection
// with nothing unsent and nothing unacknowledged waits for the application; one that
// has something is held back by the receiver's window, by its own send buffer, or by
// neither. The last is the network: the congestion window, and with it queues, losses
// and CPUs of the path, which a sender cannot tell apart. The kernel counts in ticks
// (1 to 10 ms), so a single short window is rough.
type Limits struct {
	Seconds       float64 `json:"seconds"`
	Application   float64 `json:"application"`
	ReceiveWindow float64 `json:"receive_window"`
	SendBuffer    float64 `json:"send_buffer"`
	Network       float64 `json:"network"`
}

// Plus adds up two of them; either may be nil, which is unknown and adds nothing.
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

// ThroughputMetric names the figure of a search at a loss goal: the goal in percent,
// and whether not one step may exceed it: throughput_0, throughput_0_5,
// throughput_1_strict.
func ThroughputMetric(loss float64, strict bool) string {
	percent := strconv.FormatFloat(math.Round(loss*1e8)/1e6, 'f', -1, 64)
	name := "throughput_" + strings.ReplaceAll(percent, ".", "_")
	if strict {
		name += "_strict"
	}
	return name
}
