package result

import (
	"slices"
	"time"
)

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
	Schema string `json:"schema"`
	Seq    int    `json:"seq"`
	Block  int    `json:"block"`
	Pilot  bool   `json:"pilot,omitempty"` // in block 0: it sets the warm-up and counts in no cell
	// Profiled marks a trial that was only there to sample stacks: it counts in no cell.
	Profiled bool               `json:"profiled,omitempty"`
	Mode     string             `json:"mode"`
	Workload string             `json:"workload"`
	Attempt  int                `json:"attempt"`
	Requeued bool               `json:"requeued,omitempty"` // run once more at the end: a trial of its set was ruled out
	Status   TrialStatus        `json:"status"`
	Reason   string             `json:"reason,omitempty"`
	Void     bool               `json:"void,omitempty"` // failed because its path was not proven
	Started  time.Time          `json:"started"`
	Settle   float64            `json:"settle"`         // waited before the trial
	Elapsed  float64            `json:"elapsed"`        // the whole trial without Settle
	Traffic  float64            `json:"traffic"`        // of Elapsed, with payload flowing
	Warmup   float64            `json:"warmup"`         // asked for
	Window   float64            `json:"window"`         // timed window asked for
	Rate     float64            `json:"rate,omitempty"` // payload asked for, bit/s; absent without a set rate
	Metrics  map[string]float64 `json:"metrics,omitempty"`
	Client   *End               `json:"client,omitempty"`
	Server   *End               `json:"server,omitempty"`
	Series   *Series            `json:"series,omitempty"`
	// Distributions are of the durations of which Metrics have percentiles; none of an
	// external tool.
	Distributions []Distribution     `json:"distributions,omitempty"`
	Turns         int                `json:"turns,omitempty"`    // how many trials shared its time by taking turns, itself included
	Counters      map[string]uint64  `json:"counters,omitempty"` // path counters, moved by
	Machine       map[string]float64 `json:"machine,omitempty"`  // of the whole machine, by collector
	// Processes are those that belong to the mode and are no part of the generator,
	// by the name of their program. What they spent is part of the machine's bill.
	Processes []ProcessCPU `json:"processes,omitempty"`
	// Pairs are the pairs of endpoints where several were driven at once. Metrics,
	// Client, Server and Series are then of all together.
	Pairs []PairOutcome `json:"pairs,omitempty"`
	// GeneratorLimited is the share of the sends that the schedule asked for and
	// the generator did not manage; nil without a schedule.
	GeneratorLimited *float64 `json:"generator_limited,omitempty"`
	// AtLeast names those of Metrics of which the trial shows only that they are as
	// high as this or higher.
	AtLeast []string `json:"at_least,omitempty"`
	Search  *Search  `json:"search,omitempty"` // of a rate search
	Steps   []Step   `json:"steps,omitempty"`  // of a rate search, in order: the curve of loss over load
	Tool    *Tool    `json:"tool,omitempty"`   // the external generator, if one made the traffic
	Notes   []Note   `json:"notes,omitempty"`  // what a reader of its figures must know
	// Losses say where its datagrams died, over UDP.
	Losses *Losses `json:"losses,omitempty"`
	// Stacks are those sampled in it, nil where none were.
	Stacks *Stacks `json:"stacks,omitempty"`
	// Limits say of each sender of a TCP workload who kept it from being faster.
	Limits []TCPLimits `json:"limits,omitempty"`
}

// Aside says that a trial counts in no cell, because it was run for something else: to
// set the warm-up or to sample stacks.
func (t Trial) Aside() bool { return t.Pilot || t.Profiled }

// ProcessCPU is what the processes of one program spent on behalf of a mode while
// it had traffic, in CPU seconds: in user space and in calls to the kernel, not in
// soft interrupts.
type ProcessCPU struct {
	Name string  `json:"name"`
	CPU  float64 `json:"cpu"`
}

// PairOutcome is what one of several pairs of endpoints did in a trial.
type PairOutcome struct {
	Client  End                `json:"client"`
	Server  End                `json:"server"`
	Metrics map[string]float64 `json:"metrics"`
}

// Note is a circumstance of one trial that bears on its figures.
type Note struct {
	Code string `json:"code"` // one of docs/warnings.md
	Text string `json:"text"`
}

// Tool is the external generator that made a trial's traffic, with what was run
// at the two ends.
type Tool struct {
	Name   string  `json:"name"`
	Client ToolEnd `json:"client"`
	Server ToolEnd `json:"server"`
}

// ToolEnd is an external generator at one end.
type ToolEnd struct {
	Version string   `json:"version"`
	Command []string `json:"command"`
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

	Datagrams *Datagrams `json:"datagrams,omitempty"` // over UDP
}

// Datagrams is the account of one end over UDP. All but Lost and the slots are of
// the whole trial. An external tool does not tell all of it: what it left open is
// nil.
type Datagrams struct {
	Sent          *int64 `json:"sent,omitempty"`
	Received      *int64 `json:"received,omitempty"`       // each once
	Lost          *int64 `json:"lost,omitempty"`           // of those sent to this end in the timed window
	Duplicates    *int64 `json:"duplicates,omitempty"`     // beyond Received
	Reordered     *int64 `json:"reordered,omitempty"`      // came behind a later one
	ReorderExtent *int64 `json:"reorder_extent,omitempty"` // the furthest behind the newest, in datagrams
	Late          *int64 `json:"late,omitempty"`           // came, but too late to count
	Foreign       *int64 `json:"foreign,omitempty"`        // not of this trial: never counted
	LargestBurst  *int64 `json:"largest_burst,omitempty"`  // most that left back to back
	Slots         *int64 `json:"slots,omitempty"`          // sends that the schedule asked for in the timed window
	MissedSlots   *int64 `json:"missed_slots,omitempty"`   // of Slots, those that the generator did not manage
	Offload       bool   `json:"offload"`                  // UDP segmentation or receive offload was in force
}

// Series is the timed window cut into intervals: Values[i] is the metric's rate
// over [i*Interval, (i+1)*Interval) from the window's start.
type Series struct {
	Metric   string    `json:"metric"`
	Interval float64   `json:"interval"`
	Values   []float64 `json:"values"`
}

// limitedAbove is the share of its schedule that a generator may miss before the
// rate it reached is only a lower bound.
const limitedAbove = 0.001

// Limited says whether the trial shows only that the metric is as high as this or
// higher: the generator fell behind its schedule by more than 0.1 %, which keeps
// every rate down, or the metric is among AtLeast.
func (t *Trial) Limited(m Metric) bool {
	slow := t.GeneratorLimited != nil && *t.GeneratorLimited > limitedAbove
	return slow && m.bounded() || slices.Contains(t.AtLeast, m.Name)
}

// bounded says whether a metric is a rate, which a slow generator keeps down.
func (m Metric) bounded() bool { return m.Better == Higher && m.Unit != "ratio" }
