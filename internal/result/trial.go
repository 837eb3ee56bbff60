package result

import "time"

// TrialStatus says how a trial ended.
type TrialStatus string

// The ends of a trial. Only an ok trial counts in a cell.
const (
	TrialOK      TrialStatus = "ok"
	TrialInvalid TrialStatus = "invalid" // ruled out by a rule fixed beforehand
	TrialFailed  TrialStatus = "failed"  // it broke, or its path was not proven
)

// Trial is one line of trials.ndjson: one timed execution of a mode x workload,
// the unit of replication. Seq counts attempts from 1 in the order they ran,
// Block from 1. Durations are seconds.
type Trial struct {
	Schema   string             `json:"schema"`
	Seq      int                `json:"seq"`
	Block    int                `json:"block"`
	Mode     string             `json:"mode"`
	Workload string             `json:"workload"`
	Attempt  int                `json:"attempt"`
	Status   TrialStatus        `json:"status"`
	Reason   string             `json:"reason,omitempty"`
	Void     bool               `json:"void,omitempty"` // failed because its path was not proven
	Started  time.Time          `json:"started"`
	Settle   float64            `json:"settle"`  // waited before the trial
	Elapsed  float64            `json:"elapsed"` // the whole trial without Settle
	Traffic  float64            `json:"traffic"` // of Elapsed, with payload flowing
	Metrics  map[string]float64 `json:"metrics,omitempty"`
	Client   *End               `json:"client,omitempty"`
	Server   *End               `json:"server,omitempty"`
	Series   *Series            `json:"series,omitempty"`
	Counters map[string]uint64  `json:"counters,omitempty"` // path counters, moved by
	Machine  map[string]float64 `json:"machine,omitempty"`  // of the whole machine, by collector
}

// End is what one end of a trial was set to and what its kernel reported.
type End struct {
	CPU           *int     `json:"cpu,omitempty"` // pinned to, absent when free
	Congestion    string   `json:"congestion_control,omitempty"`
	SendBuffer    int      `json:"send_buffer,omitempty"`    // granted, bytes
	ReceiveBuffer int      `json:"receive_buffer,omitempty"` // granted, bytes
	MSS           int      `json:"mss,omitempty"`
	Retransmits   *int64   `json:"retransmits,omitempty"` // segments, timed window
	RTT           *float64 `json:"rtt,omitempty"`         // kernel's smoothed estimate, s
	BytesSent     int64    `json:"bytes_sent"`            // payload, whole trial
	BytesReceived int64    `json:"bytes_received"`        // payload, whole trial
}

// Series is the timed window cut into intervals: Values[i] is the metric's rate
// over [i*Interval, (i+1)*Interval) from the window's start.
type Series struct {
	Metric   string    `json:"metric"`
	Interval float64   `json:"interval"`
	Values   []float64 `json:"values"`
}
