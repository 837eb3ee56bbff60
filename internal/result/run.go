// Package result is the data model of a run: the content of run.json and trials.ndjson.
// It imports no other package of this module: package store reads and writes the files,
// and package analysis computes cells and comparisons from trials.
package result

import "time"

// Schema and TrialSchema are the versions of run.json and of a line of trials.ndjson. A
// reader refuses an unknown major version.
const (
	Schema      = "tare.run/1"
	TrialSchema = "tare.trial/1"
)

// RunStatus is how a run ended.
type RunStatus string

// The ways in which a run ends. A run whose controller was killed has no run.json;
// store.Dir.Load reports it as interrupted.
const (
	RunComplete    RunStatus = "complete"
	RunInterrupted RunStatus = "interrupted"
	RunFailed      RunStatus = "failed"
)

// MaxPairs is the maximum number of pairs of a mode and a workload that are evaluated and shown.
const MaxPairs = 10_000

// Run is run.json: one execution of a study. All values are in base units (bit/s,
// seconds, ratio 0..1). An unknown value is absent, never 0.
type Run struct {
	Schema   string    `json:"schema"`
	ID       string    `json:"id,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	Status   RunStatus `json:"status"`
	Tare     Build     `json:"tare"`
	Seed     uint64    `json:"seed,omitempty"`
	Profile  string    `json:"profile,omitempty"`
	// Noisy says why the run is too noisy for verdicts; every verdict is then
	// cannot_tell.
	Noisy string `json:"noisy,omitempty"`
	// NoisyWorkloads are the workloads that are too noisy for verdicts while others are judged.
	NoisyWorkloads []string `json:"noisy_workloads,omitempty"`

	Hosts  []Host `json:"hosts"`
	Modes  []Mode `json:"modes"`
	Cells  []Cell `json:"cells"`
	Trials Tally  `json:"trials"`
	// Apart are the trials in its directory that are not of this run, nil if there are
	// none, and Duplicates the number of lines that repeat a trial.
	Apart      *Apart    `json:"apart,omitempty"`
	Duplicates int       `json:"duplicates,omitempty"`
	Warnings   []Warning `json:"warnings"`
	// Scenarios are the study's names for a mode with a workload, and Comparisons the
	// comparisons that it requests in addition to the baselines.
	Scenarios   []Scenario   `json:"scenarios,omitempty"`
	Comparisons []Comparison `json:"comparisons,omitempty"`
	// CostByParts explains the cost of one mode by its parts, nil if the study does not ask.
	CostByParts *CostByParts `json:"ladder,omitempty"`
	// Claims are the published claims that the study holds the run against.
	Claims []Claim `json:"claims,omitempty"`
	// Rankings order the modes by each metric, with the ties between them. Absent where no
	// more than two modes are compared, and with a CostByParts.
	Rankings []Ranking `json:"rankings,omitempty"`
	// Agreements report, for workloads that are also measured with a second tool, whether
	// the two tools agree on the cost of each mode.
	Agreements []Agreement `json:"agreements,omitempty"`
	// Metrics are those of imported numbers, in the order of their reports. Absent if
	// they are those of [Metrics].
	Metrics []Metric `json:"metrics,omitempty"`
	// Source is the origin of imported numbers, which tare evaluated but did not measure,
	// and Pairing how it compared them: block, order or none.
	Source  string `json:"source,omitempty"`
	Pairing string `json:"pairing,omitempty"`
	// Stopping records when and why no more blocks were added, Pilots the results of the
	// trials before the first block, and Lengths the trial lengths that were chosen from
	// these and from the run's own variance.
	Stopping *Stopping `json:"stopping,omitempty"`
	Pilots   []Pilot   `json:"pilots,omitempty"`
	Lengths  []Length  `json:"lengths,omitempty"`
	// Breakdowns attribute the CPU time of each mode to components, from sampled stacks.
	Breakdowns []Breakdown `json:"breakdowns,omitempty"`
	// TCPLimits record what limited TCP, for each mode, workload and sender.
	TCPLimits []TCPLimits `json:"tcp_limits,omitempty"`
	// Congestion is the congestion control that the run has chosen, nil if the study sets it,
	// and Paces the rates of workloads that are limited.
	Congestion *Congestion `json:"congestion_control,omitempty"`
	Paces      []Pace      `json:"paces,omitempty"`
	// CostPass is the pass with the same rate for every mode, nil if none was requested.
	// LinkLimited lists the bulk workloads in which the link limited the goodput of every
	// mode.
	// Sensitivity is what the sensitivity pass measured, for each mode and workload.
	CostPass    *CostPass     `json:"cost_pass,omitempty"`
	Sensitivity []Sensitivity `json:"sensitivity,omitempty"`
	// OwnShares are what the generator itself adds to exchanges that follow one another.
	OwnShares   []OwnShare    `json:"own_shares,omitempty"`
	LinkLimited []LinkLimited `json:"link_limited,omitempty"`
	// ECDFs are the distributions of the durations of exchanges and datagrams, for each
	// mode, workload and kind of duration.
	ECDFs []ECDF `json:"ecdfs,omitempty"`
	// Concurrencies are the workloads at several numbers of flows or streams, with the
	// numbers at which the curves of two modes cross.
	Concurrencies []Concurrency `json:"concurrencies,omitempty"`
	// Attempts are the connections of each mode and workload over TCP, and the share that failed.
	Attempts []AttemptSummary `json:"attempts,omitempty"`
	// Requests are what the workloads of HTTP and gRPC send.
	Requests []Requests `json:"requests,omitempty"`
	// Losses record, for each mode and workload over UDP, where datagrams were dropped.
	Losses []LossSummary `json:"losses,omitempty"`
	// SetupTimes are the percentiles of the times of set-ups, for each mode and workload that measures them.
	SetupTimes []SetupTime `json:"setup_times,omitempty"`
	// SetupGrowths are how set-ups take longer with a number that variants of a mode set.
	SetupGrowths []SetupGrowth `json:"setup_growths,omitempty"`
}

// Build is the version of the program that ran the study.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
}

// Host is a machine of the run with its properties.
type Host struct {
	Name  string `json:"name"`
	Facts []Fact `json:"facts"`
}

// The names of facts of a mode on the engine of a host, after the host's name and a space: its version,
// and the date on which the line of that version was first released.
const (
	FactEngine         = "engine"
	FactEngineReleased = "engine released"
)

// Fact is one property of a host, such as {"kernel", "6.18.44"}. Facts are in order of
// relevance.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Decides marks a fact of a mode that decides its trials beside the settings of the study, see [Deciding].
	Decides bool `json:"decides,omitempty"`
}

// ModeStatus is the final status of a mode.
type ModeStatus string

// The statuses of a mode. Only a measured mode has cells.
const (
	ModeMeasured    ModeStatus = "measured"
	ModeVoid        ModeStatus = "void"        // its path was not proven
	ModeUnsupported ModeStatus = "unsupported" // the kernel or engine lacks a requirement
	ModeFailed      ModeStatus = "failed"      // an error occurred
)

// Mode is one network mode of a run. Reason is set unless Status is measured. Baseline is
// the id of the mode that it is compared with, empty for a baseline. Mode is the drivers'
// name for it, if the study gives it another id. Like is the mode of a real engine with the same
// devices, to which that engine adds; empty if there is none.
type Mode struct {
	ID          string     `json:"id"`
	Mode        string     `json:"mode,omitempty"`
	Title       string     `json:"title"`
	Description string     `json:"description,omitempty"`
	Status      ModeStatus `json:"status"`
	Reason      string     `json:"reason,omitempty"`
	Baseline    string     `json:"baseline,omitempty"`
	Like        string     `json:"like,omitempty"`
	Control     bool       `json:"control,omitempty"` // a second copy of the baseline: its difference is noise
	Topology    *Topology  `json:"topology,omitempty"`
	Proof       *Proof     `json:"proof,omitempty"` // nil: there is none, or an older program ran
	Facts       []Fact     `json:"facts,omitempty"` // environment of the mode, such as an engine's version, and its limits
}

// Scenario is the study's name for a mode with a workload.
type Scenario struct {
	ID          string `json:"id"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Mode        string `json:"mode"`
	Workload    string `json:"workload"`
}

// Topology is a graph of a mode's path. Beside lists what is not on the path and must
// have no traffic for the path to be proven: alternative paths.
type Topology struct {
	Nodes  []Node `json:"nodes"`
	Edges  []Edge `json:"edges"`
	Beside []Node `json:"beside,omitempty"`
}

// Node is a device, a process or a rule on the path. Host is the machine and Sandbox the
// namespace or container that contains it, empty for the host's own stack. Facts contain
// what was read back: MTU, addresses, offloads.
type Node struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"` // process, veth, bridge, vxlan, macvlan, nat, ...
	Host    string `json:"host"`
	Sandbox string `json:"sandbox,omitempty"`
	Label   string `json:"label"`
	Facts   []Fact `json:"facts,omitempty"`
	// Counters are the counters that prove whether the traffic used this node; empty if
	// none counts it, and in runs of older programs.
	Counters []string `json:"counters,omitempty"`
}

// Edge connects two nodes, in the direction from client to server.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Interval is a closed interval [lo, hi].
type Interval [2]float64

// Verdict is the result of a comparison with the baseline.
type Verdict string

// The verdicts. The empty verdict belongs to cells without a comparison: the baselines.
const (
	Worse      Verdict = "worse"
	Better     Verdict = "better"
	Same       Verdict = "same"        // equivalent within the margin
	Small      Verdict = "small"       // a real difference, but within the margin
	CannotTell Verdict = "cannot_tell" // neither; see BlocksNeeded
)

// Judgement is a ratio of two sides, its 95 % interval, and what they show. P is Holm-adjusted.
// Margin and Detectable are relative: 0.05 is 5 %. Pointers are nil when unknown.
type Judgement struct {
	Ratio   *float64  `json:"ratio,omitempty"`
	RatioCI *Interval `json:"ratio_ci,omitempty"`
	P       *float64  `json:"p,omitempty"`
	// FlipP is the p value of the sign-flip test of the ratio, not adjusted: what P shows is a difference only if it is below
	// 0.05, too. Absent where there are too few or too many replicates for it.
	FlipP        *float64 `json:"p_sign_flip,omitempty"`
	Verdict      Verdict  `json:"verdict,omitempty"`
	Margin       float64  `json:"margin,omitempty"`
	Detectable   *float64 `json:"detectable,omitempty"`
	BlocksNeeded *int     `json:"blocks_needed,omitempty"`
	// Indicative marks the cells of a short run (profile quick), and one whose blocks all share one set-up.
	Indicative bool `json:"indicative,omitempty"`
	// Setups is the number of set-ups of the mode and its baseline behind the interval of the ratio, where some of the N
	// blocks share one: these are then what the interval is of. With 1 it is that of one set-up. Absent where each block
	// has its own, and in runs of programs that did not record it.
	Setups int `json:"setups,omitempty"`
	// DF are the degrees of freedom of the interval of the ratio where it is that of set-ups; absent where they are N - 1.
	DF float64 `json:"df,omitempty"`
}

// Cell is mode x workload x metric over all blocks. Value is the geometric mean over the
// trials and CI its 95 % interval (the arithmetic mean if a trial has the value 0). Ratio
// is the geometric mean, over the blocks that have both, of the mode's value to its
// baseline's, and RatioCI its 95 % interval; N counts those blocks, or the cell's own
// trials if there is no ratio. P is Holm-adjusted over the modes of one workload and
// metric. A control is corrected alone. Margin and Detectable are relative: 0.05 is 5 %.
// Pointers are nil when unknown.
//
// Bands are the two levels between which the trials switch, if they do; Value then
// represents neither. Lossy counts the trials with any loss, for a loss ratio.
//
// AtLeast marks a rate of trials in which the generator could not keep up with its
// schedule: with a faster sender the mode would carry as much or more. If two such rates
// are alike, the sender may be the reason, and the verdict is then [CannotTell]; if the
// same sender reached more with the other mode, the mode is the reason.
type Cell struct {
	Mode     string    `json:"mode"`
	Workload string    `json:"workload"`
	Metric   string    `json:"metric"`
	Unit     string    `json:"unit"`
	Better   Direction `json:"better"`
	N        int       `json:"n"`
	Value    *float64  `json:"value"`
	AtLeast  bool      `json:"at_least,omitempty"`
	CI       *Interval `json:"ci"`
	Bands    *Bands    `json:"bands,omitempty"`
	Lossy    *Lossy    `json:"lossy,omitempty"`
	Baseline string    `json:"baseline,omitempty"`
	Judgement
	// Added is what the mode adds to the baseline, in time: the mean over the blocks of the difference, with the unit
	// s, s/transaction, s/connection, s/query or a CPU cost's. Nil for metrics that are no time, and where unknown.
	Added *Added `json:"added,omitempty"`
	// Unpaired means that the values have no blocks in which to be compared: N counts the
	// mode's own values, and BlocksNeeded counts further values of each side.
	Unpaired bool `json:"unpaired,omitempty"`
	// Tail is what a percentile beyond the 99th was measured by, in a run with the tail pass. N is then the number of its trials.
	Tail *Tail `json:"tail,omitempty"`
	// Unjudged is why there is no ratio and no verdict although there is a baseline, absent otherwise.
	Unjudged string `json:"unjudged,omitempty"`
}

// BoundBaselines returns a function that reports whether the value of a cell's baseline is a lower bound, see [Cell.AtLeast]: the
// ratio may then be lower than measured.
func BoundBaselines(cells []Cell) func(Cell) bool {
	type key struct{ mode, workload, metric string }
	bounds := map[key]bool{}
	for _, c := range cells {
		if c.AtLeast {
			bounds[key{c.Mode, c.Workload, c.Metric}] = true
		}
	}
	return func(c Cell) bool { return bounds[key{c.Baseline, c.Workload, c.Metric}] }
}

// Tail is the durations of a mode in the tail pass.
type Tail struct {
	Rate      float64 `json:"rate"`      // requests per second on a schedule, alike for all modes
	Exchanges int64   `json:"exchanges"` // of all its trials, those without an answer included
	Above     int64   `json:"above"`     // of these, longer than the percentile
}

// Added is an amount of time that a mode adds; it is below 0 where the mode takes less.
type Added struct {
	Amount
	Unit string `json:"unit"`
}

// Bands are two levels between which the trials of a cell switch: the number of trials at
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

// Lossy is the number of trials with any loss among Trials, and the upper limit at 95 %
// of the share of such trials (0..1): the one-sided limit of Clopper and Pearson. For
// example, no loss in 21 trials only shows that the share is below 0.13.
type Lossy struct {
	Lossy  int     `json:"lossy"`
	Trials int     `json:"trials"`
	Upper  float64 `json:"upper"`
}

// Tally counts the trials of a run by status.
type Tally struct {
	OK      int `json:"ok"`
	Invalid int `json:"invalid"`
	Failed  int `json:"failed"`
}

// Warning is something that a careful reader must know. Scope names its subject: "run", a
// host, a mode, or "mode workload metric".
type Warning struct {
	Code   string `json:"code"`
	Scope  string `json:"scope"`
	Text   string `json:"text"`
	Values Values `json:"values,omitempty"`
}

// Total is the number of trials of any status.
func (t Tally) Total() int { return t.OK + t.Invalid + t.Failed }

// Count counts trials by status.
func Count(trials []Trial) Tally {
	var n Tally
	for _, t := range trials {
		n.Add(t.Status)
	}
	return n
}

// Add counts a trial that ended with a status.
func (t *Tally) Add(s TrialStatus) {
	switch s {
	case TrialOK:
		t.OK++
	case TrialInvalid:
		t.Invalid++
	case TrialFailed:
		t.Failed++
	}
}
