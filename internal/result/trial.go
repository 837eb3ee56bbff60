package result

import (
	"slices"
	"time"
)

// TrialStatus is how a trial ended.
type TrialStatus string

// The statuses of a trial. Only an ok trial counts in a cell.
const (
	TrialOK      TrialStatus = "ok"
	TrialInvalid TrialStatus = "invalid" // excluded by a rule fixed beforehand
	TrialFailed  TrialStatus = "failed"  // an error occurred, or its path was not proven
)

// Trial is one line of trials.ndjson: one timed execution of a mode x workload,
// the unit of replication. Seq counts attempts from 1 in the order they ran,
// Block from 1. Durations are seconds.
type Trial struct {
	Schema string `json:"schema"`
	Seq    int    `json:"seq"`
	Block  int    `json:"block"`
	Pilot  bool   `json:"pilot,omitempty"` // in block 0: it determines the warm-up and counts in no cell
	// Paces marks a first trial, also in block 0, which only shows at which rate a workload is
	// paced: it counts in no cell.
	Paces bool `json:"paces,omitempty"`
	// Paced means that its rate is that of [Run.Paces]: its goodput is not the limit of the path.
	Paced bool `json:"paced,omitempty"`
	// TailRate marks a trial of the tail pass, which counts in no cell but those of percentiles beyond the 99th: requests per
	// second on a schedule, of all its pairs.
	TailRate float64 `json:"tail_rate,omitempty"`
	// Profiled marks a trial that only samples stacks: it counts in no cell.
	Profiled bool   `json:"profiled,omitempty"`
	Mode     string `json:"mode"`
	Workload string `json:"workload"`
	Attempt  int    `json:"attempt"`
	// Setup numbers the set-ups of the mode from 1, over all sessions of a run; 0 in trials of programs that did not
	// record it. Trials with the same one share what a set-up draws at random.
	Setup int `json:"setup,omitempty"`
	// Experiment is the hash of the settings that decide the trial, see [Settings.Experiment],
	// FactsHash that of the facts of its mode that do, see [Deciding], absent if there are none, and
	// Tare the build that measured it. Older programs did not record them.
	Experiment string      `json:"experiment,omitempty"`
	FactsHash  string      `json:"facts_hash,omitempty"`
	Tare       string      `json:"tare,omitempty"`
	Requeued   bool        `json:"requeued,omitempty"` // repeated at the end, because a trial of its set was invalid
	Status     TrialStatus `json:"status"`
	Reason     string      `json:"reason,omitempty"`
	Void       bool        `json:"void,omitempty"` // failed because its path was not proven
	Started    time.Time   `json:"started"`
	Settle     float64     `json:"settle"`  // waited before the trial
	Elapsed    float64     `json:"elapsed"` // the whole trial without Settle
	Traffic    float64     `json:"traffic"` // part of Elapsed with payload flowing
	Warmup     float64     `json:"warmup"`  // as requested
	Window     float64     `json:"window"`  // timed window as requested
	// Held is how long its path needs for the data that it holds, if the trial was run in one piece for that,
	// although its workload has slices.
	Held    float64            `json:"held,omitempty"`
	Rate    float64            `json:"rate,omitempty"` // requested payload, bit/s; absent without a fixed rate
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Client  *End               `json:"client,omitempty"`
	Server  *End               `json:"server,omitempty"`
	Series  *Series            `json:"series,omitempty"`
	// Distributions contain the durations whose percentiles are in Metrics; an external
	// tool has none.
	Distributions []Distribution     `json:"distributions,omitempty"`
	Turns         int                `json:"turns,omitempty"`    // number of interleaved trials, itself included
	Counters      map[string]uint64  `json:"counters,omitempty"` // increments of the path's counters
	Machine       map[string]float64 `json:"machine,omitempty"`  // of the whole machine, by collector
	// Processes are those of the mode without the generator, by program name. Their CPU
	// time is part of the machine's CPU cost.
	Processes []ProcessCPU `json:"processes,omitempty"`
	// Pairs are the pairs of endpoints if there were several. Metrics, Client, Server and
	// Series are then totals.
	Pairs []PairOutcome `json:"pairs,omitempty"`
	// GeneratorLimited is the share of the scheduled sends that the generator missed; nil
	// without a schedule.
	GeneratorLimited *float64 `json:"generator_limited,omitempty"`
	// AtLeast lists the metrics for which the trial shows only a lower bound.
	AtLeast []string `json:"at_least,omitempty"`
	Search  *Search  `json:"search,omitempty"` // of a rate search
	Steps   []Step   `json:"steps,omitempty"`  // of a rate search, in order: the loss as a function of the load
	// SetupSteps are the seconds of named steps of a set-up, such as "ADD bridge" of a CNI plugin, and of the removal of the one before.
	SetupSteps map[string]float64 `json:"setup_steps,omitempty"`
	Tool       *Tool              `json:"tool,omitempty"`  // the external generator, if any
	Notes      []Note             `json:"notes,omitempty"` // what a reader of its values must know
	// Attempts count its client's connections and those that failed, over TCP.
	Attempts *Attempts `json:"attempts,omitempty"`
	// Event is what happened in the middle of its timed window, nil if nothing did.
	Event *Event `json:"event,omitempty"`
	// Losses record where its datagrams were dropped, over UDP.
	Losses *Losses `json:"losses,omitempty"`
	// Stacks summarise its sampled stacks, nil if there are none.
	Stacks *Stacks `json:"stacks,omitempty"`
	// Limits record for each sender of a TCP workload what limited it.
	Limits []TCPLimits `json:"limits,omitempty"`
}

// Aside reports whether the trial counts in no cell of its own metrics, because it only determines the
// warm-up or a rate, samples stacks, or is one of the tail pass.
func (t Trial) Aside() bool { return t.Pilot || t.Paces || t.Profiled || t.TailRate > 0 }

// ProcessCPU is the CPU time of the processes of one program that belong to a mode while
// it had traffic, in CPU seconds: in user space and in system calls, not in soft
// interrupts.
type ProcessCPU struct {
	Name string  `json:"name"`
	CPU  float64 `json:"cpu"`
}

// PairOutcome is the result of one of several pairs of endpoints in a trial, or of one of several clients of a server.
type PairOutcome struct {
	Client End `json:"client"`
	// Server is nil where all clients have one server: what it counted of each is unknown.
	Server  *End               `json:"server,omitempty"`
	Metrics map[string]float64 `json:"metrics"`
}

// Note is a circumstance of one trial that affects its values.
type Note struct {
	Code   string `json:"code"` // one of docs/warnings.md
	Text   string `json:"text"`
	Values Values `json:"values,omitempty"`
}

// Tool is the external generator of a trial's traffic, with the commands at the two
// endpoints.
type Tool struct {
	Name   string  `json:"name"`
	Client ToolEnd `json:"client"`
	Server ToolEnd `json:"server"`
}

// ToolEnd is an external generator at one endpoint.
type ToolEnd struct {
	Version string   `json:"version"`
	Command []string `json:"command"`
}

// End is the configuration of one endpoint of a trial and what its kernel reported.
type End struct {
	CPU           *int     `json:"cpu,omitempty"` // pinned to, absent when free
	Congestion    string   `json:"congestion_control,omitempty"`
	SendBuffer    int      `json:"send_buffer,omitempty"`    // granted, bytes
	ReceiveBuffer int      `json:"receive_buffer,omitempty"` // granted, bytes
	MSS           int      `json:"mss,omitempty"`
	Retransmits   *int64   `json:"retransmits,omitempty"` // segments, timed window
	RTT           *float64 `json:"rtt,omitempty"`         // kernel's smoothed estimate, s
	Sent          int64    `json:"bytes_sent"`            // payload, whole trial
	Received      int64    `json:"bytes_received"`        // payload, whole trial
	OwnTime       *float64 `json:"own_time,omitempty"`    // of a client of exchanges in a closed loop: what it adds to each itself, without system calls, s

	Datagrams *Datagrams `json:"datagrams,omitempty"` // over UDP
}

// Datagrams counts the datagrams of one endpoint over UDP. All fields except Lost and the
// slots are of the whole trial. A field that an external tool does not report is nil.
type Datagrams struct {
	Sent          *int64 `json:"sent,omitempty"`
	Received      *int64 `json:"received,omitempty"`       // without duplicates
	Lost          *int64 `json:"lost,omitempty"`           // of those sent to this endpoint in the timed window
	Duplicates    *int64 `json:"duplicates,omitempty"`     // in addition to Received
	Reordered     *int64 `json:"reordered,omitempty"`      // arrived after a later one
	ReorderExtent *int64 `json:"reorder_extent,omitempty"` // maximum distance behind the newest, in datagrams
	Late          *int64 `json:"late,omitempty"`           // arrived too late to count
	Foreign       *int64 `json:"foreign,omitempty"`        // not of this trial: not counted
	LargestBurst  *int64 `json:"largest_burst,omitempty"`  // maximum number sent back to back
	Slots         *int64 `json:"slots,omitempty"`          // scheduled sends in the timed window
	MissedSlots   *int64 `json:"missed_slots,omitempty"`   // of Slots, those that the generator missed
	Offload       bool   `json:"offload"`                  // UDP segmentation or receive offload was used
}

// Series is the timed window split into intervals: Values[i] is the metric's rate over
// [i*Interval, (i+1)*Interval) from the window's start.
type Series struct {
	Metric   string    `json:"metric"`
	Interval float64   `json:"interval"`
	Values   []float64 `json:"values"`
}

// limitedAbove is the share of its schedule that a generator may miss before its rate is
// only a lower bound.
const limitedAbove = 0.001

// Bounds tells for which metrics a trial shows only a lower bound.
type Bounds struct {
	slow    bool // the generator missed more than 0.1 % of its schedule
	atLeast []string
}

// carriedPace is the share of its rate that a paced trial must carry to show that the path carries
// that rate.
const carriedPace = 0.95

// CarriedPace reports whether a paced trial carried its rate. That the generator missed a part of
// its schedule and caught up does not matter then: how much more it could have sent is not asked.
func (t *Trial) CarriedPace() bool {
	return t.Paced && t.Rate > 0 && t.Metrics["goodput"] >= carriedPace*t.Rate
}

// Bounds are the trial's lower bounds, nil if it has none.
func (t *Trial) Bounds() *Bounds {
	slow := t.GeneratorLimited != nil && *t.GeneratorLimited > limitedAbove && !t.CarriedPace()
	if !slow && len(t.AtLeast) == 0 {
		return nil
	}
	return &Bounds{slow, t.AtLeast}
}

// Of reports whether the trial shows only a lower bound for the metric: the generator
// missed more than 0.1 % of its schedule, which reduces every rate, or the metric is
// listed in AtLeast.
func (b *Bounds) Of(m Metric) bool {
	return b != nil && (b.slow && m.bounded() || slices.Contains(b.atLeast, m.Name))
}

// Limited reports whether the trial shows only a lower bound for the metric, see [Bounds].
func (t *Trial) Limited(m Metric) bool { return t.Bounds().Of(m) }

// bounded reports whether a metric is a rate, which a slow generator reduces.
func (m Metric) bounded() bool { return m.Better == Higher && m.Unit != "ratio" }
