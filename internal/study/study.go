// Package study is the study file: what to weigh, with which traffic, how often.
// It decodes YAML with line numbers, fills in defaults and checks every value
// before anything is made.
package study

import "time"

// Study is a study file. After Resolve every field that applies is set, so that
// the study.yaml of a run's directory repeats it exactly.
type Study struct {
	Name        string       `yaml:"name,omitempty" json:"name,omitempty" jsonschema:"short name, used in titles"`
	Title       string       `yaml:"title,omitempty" json:"title,omitempty" jsonschema:"one line for the report's head"`
	Description string       `yaml:"description,omitempty" json:"description,omitempty" jsonschema:"what is asked, and why"`
	Profile     string       `yaml:"profile,omitempty" json:"profile,omitempty" jsonschema:"how thorough: quick, standard or paper"`
	Seed        uint64       `yaml:"seed,omitempty" json:"seed,omitempty" jsonschema:"seed of the random orders; chosen and recorded when absent"`
	Engine      string       `yaml:"engine,omitempty" json:"engine,omitempty" jsonschema:"the Docker Engine of the docker modes: lab for private ones, or an existing one"`
	Hosts       []Host       `yaml:"hosts,omitempty" json:"hosts,omitempty" jsonschema:"two existing engines, client's first, with the address each is reached at"`
	Modes       []Mode       `yaml:"modes,omitempty" json:"modes,omitempty" jsonschema:"network modes to weigh: a name, or a mapping; baselines they need are added"`
	Workloads   []Workload   `yaml:"workloads,omitempty" json:"workloads,omitempty" jsonschema:"traffic to drive: a name, or a mapping with parameters"`
	Scenarios   []Scenario   `yaml:"scenarios,omitempty" json:"scenarios,omitempty" jsonschema:"names for pairs of a mode and a workload"`
	Compare     []Comparison `yaml:"compare,omitempty" json:"compare,omitempty" jsonschema:"which two scenarios or modes to compare with each other, beside the baselines"`
	Blocks      int          `yaml:"blocks,omitempty" json:"blocks,omitempty" jsonschema:"how often every mode is tried with every workload; with stop, at most"`
	Stop        *Stop        `yaml:"stop,omitempty" json:"stop,omitempty" jsonschema:"end the run when the intervals are narrow enough, instead of after a fixed number of blocks"`
	Control     bool         `yaml:"control,omitempty" json:"control,omitempty" jsonschema:"weigh the baseline once more, as a mode named control: what it shows is the noise"`
	Pilot       Duration     `yaml:"pilot,omitempty" json:"pilot,omitempty" jsonschema:"length of the pilot trial of each mode, which sets the warm-up; 0s for none"`
	Renew       Renew        `yaml:"renew,omitempty" json:"renew,omitempty" jsonschema:"how often the endpoints of a mode are made anew"`
	Invalid     Invalid      `yaml:"invalid,omitempty" json:"invalid,omitempty" jsonschema:"rules by which a trial is ruled out and tried again"`
	Evidence    Evidence     `yaml:"evidence,omitempty" json:"evidence,omitempty" jsonschema:"what is gathered beside the figures: where losses happened, what the CPU time went to"`
	CostPass    CostPass     `yaml:"cost_pass,omitempty" json:"cost_pass,omitempty" jsonschema:"a pass at one rate for every mode, at which their CPU use can be compared"`
	Margin      float64      `yaml:"margin,omitempty" json:"margin,omitempty" jsonschema:"relative difference that still counts as same, such as 0.05"`
	Settle      Duration     `yaml:"settle,omitempty" json:"settle,omitempty" jsonschema:"idle wait before each trial"`
	MaxTime     Duration     `yaml:"max_time,omitempty" json:"max_time,omitempty" jsonschema:"start no block that would end later than this"`
	Limits      Limits       `yaml:"limits,omitempty" json:"limits,omitempty" jsonschema:"what the sandboxes of modes built by an engine may use"`
	Lab         Lab          `yaml:"lab,omitempty" json:"lab,omitempty" jsonschema:"the two hosts and their underlay"`
}

// Names lists the workloads of a resolved study as results name them.
func (s Study) Names() []string {
	var names []string
	for _, w := range s.Workloads {
		names = append(names, w.Name())
	}
	return names
}

// Lab describes the embedded lab.
type Lab struct {
	MTU     int    `yaml:"mtu,omitempty" json:"mtu,omitempty" jsonschema:"underlay MTU in bytes"`
	Rate    Rate   `yaml:"rate,omitempty" json:"rate,omitempty" jsonschema:"underlay rate limit each way, such as 1Gbit/s; none when absent"`
	Offload string `yaml:"offload,omitempty" json:"offload,omitempty" jsonschema:"segmentation and receive offloads of every device: on or off"`
}

// Workload is one traffic pattern with its parameters. Which parameters a kind
// takes is in the Catalog; Resolve fills those in and leaves the others zero.
type Workload struct {
	ID              string     `yaml:"id,omitempty" json:"id,omitempty" jsonschema:"name in results; the workload's own when absent"`
	Kind            string     `yaml:"workload" json:"workload" jsonschema:"which workload"`
	Tool            string     `yaml:"tool,omitempty" json:"tool,omitempty" jsonschema:"who makes the traffic: tare itself, or an external generator that is installed"`
	VerifyWith      string     `yaml:"verify_with,omitempty" json:"verify_with,omitempty" jsonschema:"weigh with this external generator too, and say whether the two agree"`
	Pairs           int        `yaml:"pairs,omitempty" json:"pairs,omitempty" jsonschema:"pairs of endpoints driven at the same time, each in sandboxes of its own"`
	Streams         int        `yaml:"streams,omitempty" json:"streams,omitempty" jsonschema:"parallel connections"`
	Flows           int        `yaml:"flows,omitempty" json:"flows,omitempty" jsonschema:"parallel flows, each with an address pair of its own"`
	Threads         int        `yaml:"threads,omitempty" json:"threads,omitempty" jsonschema:"threads that the streams are spread over at each end; one a stream when absent"`
	WriteSize       Size       `yaml:"write_size,omitempty" json:"write_size,omitempty" jsonschema:"bytes handed to the kernel at once, such as 128KiB"`
	PayloadSize     Size       `yaml:"payload_size,omitempty" json:"payload_size,omitempty" jsonschema:"payload of one datagram in bytes"`
	RequestSize     Size       `yaml:"request_size,omitempty" json:"request_size,omitempty" jsonschema:"bytes of a request"`
	ResponseSize    Size       `yaml:"response_size,omitempty" json:"response_size,omitempty" jsonschema:"bytes of a response"`
	Rate            Load       `yaml:"rate,omitempty" json:"rate,omitempty" jsonschema:"payload offered by all streams together, such as 1Gbit/s, or unlimited"`
	PacketRate      int        `yaml:"packet_rate,omitempty" json:"packet_rate,omitempty" jsonschema:"datagrams a second offered by all flows together; takes the place of rate"`
	Rates           Rates      `yaml:"rates,omitempty" json:"rates,omitempty" jsonschema:"loads to step through, each a workload of its own: a list, or from, to and steps of a range"`
	LossGoals       LossGoals  `yaml:"loss_goals,omitempty" json:"loss_goals,omitempty" jsonschema:"loss ratios to search the highest rate for, such as [0, 0.01]; all in one search"`
	Goal            string     `yaml:"goal,omitempty" json:"goal,omitempty" jsonschema:"what a rate must hold: median (most steps keep the loss goal), strict (each does), both, or rfc2544 (each of a minute does)"`
	ExceedRatio     Portion    `yaml:"exceed_ratio,omitempty" json:"exceed_ratio,omitempty" jsonschema:"share of the steps' time that may exceed the loss goal at a rate that holds"`
	Step            Duration   `yaml:"step,omitempty" json:"step,omitempty" jsonschema:"how long a step of the search sends at one load"`
	StepSum         Duration   `yaml:"step_sum,omitempty" json:"step_sum,omitempty" jsonschema:"time of steps at one load by which it is decided; three steps or more"`
	Precision       float64    `yaml:"precision,omitempty" json:"precision,omitempty" jsonschema:"relative distance of the bounds that a search ends with"`
	Pause           Duration   `yaml:"pause,omitempty" json:"pause,omitempty" jsonschema:"time without traffic before each step of a search, for the queues to drain"`
	MinRate         Rate       `yaml:"min_rate,omitempty" json:"min_rate,omitempty" jsonschema:"least load of a search, payload"`
	MaxRate         Rate       `yaml:"max_rate,omitempty" json:"max_rate,omitempty" jsonschema:"highest load of a search, payload; the first step offers it"`
	MaxSearch       Duration   `yaml:"max_search,omitempty" json:"max_search,omitempty" jsonschema:"most time that the steps of a search may take; it then ends with what it knows"`
	TransactionRate int        `yaml:"transaction_rate,omitempty" json:"transaction_rate,omitempty" jsonschema:"transactions a second on a fixed schedule (open loop); as fast as they come when absent (closed loop)"`
	Burst           int        `yaml:"burst,omitempty" json:"burst,omitempty" jsonschema:"most datagrams that may leave back to back to catch up with the schedule"`
	Offload         string     `yaml:"offload,omitempty" json:"offload,omitempty" jsonschema:"UDP segmentation and receive offload, on or off: with it super-packets cross the path"`
	Fragment        string     `yaml:"fragment,omitempty" json:"fragment,omitempty" jsonschema:"on or off: whether IP may fragment what exceeds the path MTU"`
	Close           string     `yaml:"close,omitempty" json:"close,omitempty" jsonschema:"how a connection ends: fin (orderly) or rst (reset)"`
	NoDelay         *bool      `yaml:"no_delay,omitempty" json:"no_delay,omitempty" jsonschema:"disable Nagle's algorithm"`
	Direction       string     `yaml:"direction,omitempty" json:"direction,omitempty" jsonschema:"forward: the client sends; reverse: the server sends; both: both at once"`
	Family          string     `yaml:"family,omitempty" json:"family,omitempty" jsonschema:"ipv4 or ipv6"`
	Congestion      string     `yaml:"congestion_control,omitempty" json:"congestion_control,omitempty" jsonschema:"TCP congestion control, set on every socket"`
	SendBuffer      BufferSize `yaml:"send_buffer,omitempty" json:"send_buffer,omitempty" jsonschema:"socket send buffer, or auto for the kernel's autotuning"`
	ReceiveBuffer   BufferSize `yaml:"receive_buffer,omitempty" json:"receive_buffer,omitempty" jsonschema:"socket receive buffer, or auto for the kernel's autotuning"`
	Placement       string     `yaml:"placement,omitempty" json:"placement,omitempty" jsonschema:"one_core: both ends on one CPU; two_cores: an end each; free: the scheduler's choice"`
	Slice           Duration   `yaml:"slice,omitempty" json:"slice,omitempty" jsonschema:"how long a mode is driven before the next one's turn; as long as the trial or longer: all at once"`
	Every           int        `yaml:"every,omitempty" json:"every,omitempty" jsonschema:"driven in every so-many-th block, from the first on; in each when absent"`
	Times           int        `yaml:"times,omitempty" json:"times,omitempty" jsonschema:"driven in so many blocks at most; without a bound when absent"`
	Warmup          Duration   `yaml:"warmup,omitempty" json:"warmup,omitempty" jsonschema:"traffic before the timed window"`
	Duration        Duration   `yaml:"duration,omitempty" json:"duration,omitempty" jsonschema:"the timed window"`
	DurationMin     Duration   `yaml:"duration_min,omitempty" json:"duration_min,omitempty" jsonschema:"the shortest timed window that the run may choose by its own variance"`
	DurationMax     Duration   `yaml:"duration_max,omitempty" json:"duration_max,omitempty" jsonschema:"the longest such window"`
}

// Name is the workload's name in results and on the command line: its id, or
// its kind where it has none.
func (w Workload) Name() string {
	if w.ID != "" {
		return w.ID
	}
	return w.Kind
}

// The values of the enumerated fields.
const (
	Quick    = "quick"
	Standard = "standard"
	Paper    = "paper"

	Forward = "forward"
	Reverse = "reverse"
	Both    = "both"

	IPv4 = "ipv4"
	IPv6 = "ipv6"

	OneCore  = "one_core"
	TwoCores = "two_cores"
	Free     = "free"

	On  = "on"
	Off = "off"

	FIN = "fin"
	RST = "rst"

	BuiltIn = "tare" // the tool that is this program
)

// Catalog is what there is to choose from. The registries fill it, so that this
// package knows no driver and no traffic.
type Catalog struct {
	Modes     []ModeSpec
	Workloads []WorkloadSpec
}

// ModeSpec is a mode's id and the id of its baseline, empty for a baseline.
type ModeSpec struct {
	ID       string
	Baseline string
	Limits   Ends // that can be limited: an engine makes their sandboxes
	Options  bool // takes options
	MTU      bool // takes an MTU for the inside of its tunnel
	// Absent says why a known mode is not to be had on the engine that the study
	// names, empty where it is.
	Absent string
	// Planned says why a known mode is not there yet; empty where it is. A study may
	// name it, and its cells come out unsupported.
	Planned string
}

// WorkloadSpec is a workload kind: the YAML keys it takes besides id and
// workload, the defaults of those, and its lengths by profile.
type WorkloadSpec struct {
	Kind     string
	Params   []string
	Optional []string // keys it takes too, which no default fills
	Defaults Workload
	Profiles map[string]Workload // defaults that a profile has of its own, by its name
	Lengths  map[string]Length
	// Goals are defaults by the value of goal, which go before those of the profile.
	Goals map[string]Workload
	// Directions are the values of direction it knows; forward and reverse where
	// there are none.
	Directions []string
	// ReverseWhole says that the workload cannot take turns when the server sends.
	ReverseWhole bool
	// Tools are the external generators that can make this traffic.
	Tools []string
	// Bulk workloads need time to fill a slow path: on an underlay with a rate
	// limit their default is one piece, with a warm-up of at least BulkWarmup.
	Bulk bool
	// Metric is the workload's main figure, as results name it: workloads that
	// differ in it have nothing to compare.
	Metric string
	// Planned says why a known workload is not there yet; empty where it is. A study
	// may name it, and it is left out of the trials.
	Planned string
}

// BulkWarmup is the least default warm-up of a bulk workload in one piece on an
// underlay with a rate limit, and WholeWarmup the least of one in one piece for
// another reason. Of trials in turns each slice warms up by itself.
const (
	BulkWarmup  = Duration(time.Second)
	WholeWarmup = Duration(500 * time.Millisecond)
)

// Length is how long a trial's warm-up and timed window last, and the slices that
// it is cut into; without a Slice it is driven all at once.
type Length struct {
	Warmup, Duration, Slice Duration
}
