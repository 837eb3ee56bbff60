// Package result is the model of a run: what run.json and trials.ndjson hold. It imports
// nothing of ours: how the files are written and read is in store, how cells and
// comparisons follow from trials in analysis.
package result

import "time"

// Schema and TrialSchema name the versions of run.json and of a line of
// trials.ndjson. A reader refuses a major version it does not know.
const (
	Schema      = "tare.run/1"
	TrialSchema = "tare.trial/1"
)

// RunStatus says how a run ended.
type RunStatus string

// The ways a run ends. A run whose controller was killed has no run.json yet;
// store.Dir.Load reports it as interrupted.
const (
	RunComplete    RunStatus = "complete"
	RunInterrupted RunStatus = "interrupted"
	RunFailed      RunStatus = "failed"
)

// Run is run.json: one execution of a study. All figures are in base units
// (bit/s, seconds, ratio 0..1). An unknown figure is absent, never 0.
type Run struct {
	Schema   string    `json:"schema"`
	ID       string    `json:"id,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	Status   RunStatus `json:"status"`
	Tare     Build     `json:"tare"`
	Seed     uint64    `json:"seed,omitempty"`
	Profile  string    `json:"profile,omitempty"`
	// Noisy says why the run is not fit to judge; every verdict is then cannot_tell.
	Noisy    string    `json:"noisy,omitempty"`
	Hosts    []Host    `json:"hosts"`
	Modes    []Mode    `json:"modes"`
	Cells    []Cell    `json:"cells"`
	Trials   Tally     `json:"trials"`
	Warnings []Warning `json:"warnings"`
	// Scenarios are names that the study gives to a mode with a workload, and
	// Comparisons what it asked to be compared beyond the baselines.
	Scenarios   []Scenario   `json:"scenarios,omitempty"`
	Comparisons []Comparison `json:"comparisons,omitempty"`
	// Agreements say, for workloads weighed by a second tool as well, whether the
	// two agree on what each mode costs.
	Agreements []Agreement `json:"agreements,omitempty"`
	// Metrics are those of numbers that came from elsewhere, in the order of their
	// reports. Absent where they are those of [Metrics].
	Metrics []Metric `json:"metrics,omitempty"`
	// Source is where the numbers came from that tare judged but did not measure, and
	// Pairing how it compared them: block, order or none.
	Source  string `json:"source,omitempty"`
	Pairing string `json:"pairing,omitempty"`
	// Stopping says when and why no more blocks were added, Pilots what the trials
	// before the first block found, and Lengths how long trials were made from that
	// and from the run's own variance.
	Stopping *Stopping `json:"stopping,omitempty"`
	Pilots   []Pilot   `json:"pilots,omitempty"`
	Lengths  []Length  `json:"lengths,omitempty"`
	// Breakdowns say where the CPU time of each mode went, by sampled stacks.
	Breakdowns []Breakdown `json:"breakdowns,omitempty"`
	// TCPLimits say who limited TCP, for each mode, workload and sender.
	TCPLimits []TCPLimits `json:"tcp_limits,omitempty"`
	// CostPass is the pass at one rate for every mode, nil where none was asked for.
	// LinkLimited names the bulk workloads in which the link set every mode's goodput.
	CostPass    *CostPass     `json:"cost_pass,omitempty"`
	LinkLimited []LinkLimited `json:"link_limited,omitempty"`
	// ECDFs are how long exchanges and datagrams took, for each mode, workload and kind of
	// duration.
	ECDFs []ECDF `json:"ecdfs,omitempty"`
	// Losses say, for each mode and workload over UDP, where datagrams died.
	Losses []LossSummary `json:"losses,omitempty"`
}

// Build is the version of the program that made the run.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
}

// Host is a machine of the run with what was found out about it.
type Host struct {
	Name  string `json:"name"`
	Facts []Fact `json:"facts"`
}

// Fact is one property of a host, such as {"kernel", "6.18.44"}. Facts keep
// the order in which they are worth reading.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ModeStatus says what became of a mode.
type ModeStatus string

// The fates of a mode. Only a measured mode has cells.
const (
	ModeMeasured    ModeStatus = "measured"
	ModeVoid        ModeStatus = "void"        // its path was not proven
	ModeUnsupported ModeStatus = "unsupported" // kernel or engine lacks what it needs
	ModeFailed      ModeStatus = "failed"      // it broke
)

// Mode is one network mode of a run. Reason is set unless Status is measured.
// Baseline is the id of the mode it is compared with, empty for a baseline. Mode
// is what the drivers call it, where the study gave it an id of its own.
type Mode struct {
	ID          string     `json:"id"`
	Mode        string     `json:"mode,omitempty"`
	Title       string     `json:"title"`
	Description string     `json:"description,omitempty"`
	Status      ModeStatus `json:"status"`
	Reason      string     `json:"reason,omitempty"`
	Baseline    string     `json:"baseline,omitempty"`
	Control     bool       `json:"control,omitempty"` // the baseline once more: what it differs by is noise
	Topology    *Topology  `json:"topology,omitempty"`
	Proof       *Proof     `json:"proof,omitempty"` // nil: none was made, or an older program ran
	Facts       []Fact     `json:"facts,omitempty"` // what it stood on, such as an engine's version, and its limits
}

// Scenario is a name that the study gives to a mode with a workload.
type Scenario struct {
	ID          string `json:"id"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Mode        string `json:"mode"`
	Workload    string `json:"workload"`
}

// Topology is a drawable graph of a mode's path. Beside are what lies off the path
// and must rest for the path to be proven: the ways round it.
type Topology struct {
	Nodes  []Node `json:"nodes"`
	Edges  []Edge `json:"edges"`
	Beside []Node `json:"beside,omitempty"`
}

// Node is a device, a process or a rule on the path. Host is the machine and
// Sandbox the namespace or container it lives in, empty for the host's own
// stack. Facts hold what was read back: MTU, addresses, offloads.
type Node struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"` // process, veth, bridge, vxlan, macvlan, nat, ...
	Host    string `json:"host"`
	Sandbox string `json:"sandbox,omitempty"`
	Label   string `json:"label"`
	Facts   []Fact `json:"facts,omitempty"`
	// Counters name what proves that the traffic took this node, or left it alone; empty
	// where nothing counts it, and in runs of older programs.
	Counters []string `json:"counters,omitempty"`
}

// Edge joins two nodes, in the direction from client to server.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Interval is a closed interval [lo, hi].
type Interval [2]float64

// Verdict is the answer of a comparison with the baseline.
type Verdict string

// The verdicts. The empty verdict belongs to cells that are compared with
// nothing: the baselines.
const (
	Worse      Verdict = "worse"
	Better     Verdict = "better"
	Same       Verdict = "same"        // equivalent within the margin
	Small      Verdict = "small"       // a real difference, but within the margin
	CannotTell Verdict = "cannot_tell" // neither; see BlocksNeeded
)

// Cell is mode x workload x metric over all blocks.
//
// Value is the geometric mean over the trials and CI its 95 % interval (the
// arithmetic mean where a trial gave 0). Ratio is the geometric mean, over the
// blocks that have both, of the mode's value to its baseline's, and RatioCI its
// 95 % interval; N counts those blocks, or the cell's own trials where there is
// no ratio. P is Holm-adjusted over the modes of one workload and metric.
// A control is corrected alone. Margin and Detectable are relative: 0.05 is 5 %.
// Pointers are nil when unknown.
//
// Bands are the two levels that the trials fall into, if they do; Value stands for
// neither. Lossy counts the trials with any loss, for a ratio of loss.
//
// AtLeast marks a rate in whose trials the generator could not keep up with its
// schedule: with a faster sender the mode would carry as much or more. That two such
// rates are alike may be the sender's doing, and the verdict is then [CannotTell];
// that the same sender reached more beside the other is the mode's.
type Cell struct {
	Mode         string    `json:"mode"`
	Workload     string    `json:"workload"`
	Metric       string    `json:"metric"`
	Unit         string    `json:"unit"`
	Better       Direction `json:"better"`
	N            int       `json:"n"`
	Value        *float64  `json:"value"`
	AtLeast      bool      `json:"at_least,omitempty"`
	CI           *Interval `json:"ci"`
	Bands        *Bands    `json:"bands,omitempty"`
	Lossy        *Lossy    `json:"lossy,omitempty"`
	Baseline     string    `json:"baseline,omitempty"`
	Ratio        *float64  `json:"ratio,omitempty"`
	RatioCI      *Interval `json:"ratio_ci,omitempty"`
	P            *float64  `json:"p,omitempty"`
	Verdict      Verdict   `json:"verdict,omitempty"`
	Margin       float64   `json:"margin,omitempty"`
	Detectable   *float64  `json:"detectable,omitempty"`
	BlocksNeeded *int      `json:"blocks_needed,omitempty"`
	Indicative   bool      `json:"indicative,omitempty"`
	// Unpaired says that the values have no blocks in which to be compared: N are the
	// mode's own, and BlocksNeeded counts further values of each side.
	Unpaired bool `json:"unpaired,omitempty"`
}

// Bands are two levels between which the trials of a cell switch: how many are at
// each, and their geometric mean.
type Bands struct {
	Low  Band `json:"low"`
	High Band `json:"high"`
}

// Band is one of two levels.
type Band struct {
	N     int     `json:"n"`
	Value float64 `json:"value"`
}

// Lossy says in how many of so many trials anything was lost, and the share of
// trials (0..1) that it is below at 95 %: the one-sided limit of Clopper and
// Pearson. No loss in 21 trials is no proof that there is none: the share is below
// 0.13.
type Lossy struct {
	Lossy  int     `json:"lossy"`
	Trials int     `json:"trials"`
	Upper  float64 `json:"upper"`
}

// Tally counts the trials of a run by how they ended.
type Tally struct {
	OK      int `json:"ok"`
	Invalid int `json:"invalid"`
	Failed  int `json:"failed"`
}

// Warning is something a careful reader must know. Scope names what it is
// about: "run", a host, a mode, or "mode workload metric".
type Warning struct {
	Code  string `json:"code"`
	Scope string `json:"scope"`
	Text  string `json:"text"`
}

// Total is how many trials there are, however they ended.
func (t Tally) Total() int { return t.OK + t.Invalid + t.Failed }

// Count tallies trials by how they ended.
func Count(trials []Trial) Tally {
	var n Tally
	for _, t := range trials {
		switch t.Status {
		case TrialOK:
			n.OK++
		case TrialInvalid:
			n.Invalid++
		case TrialFailed:
			n.Failed++
		}
	}
	return n
}
