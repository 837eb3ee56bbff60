package result

// CostByParts explains what a mode costs by its parts: what each adds to the one before, from
// the baseline up to the mode, and what the mode saves without it. Modes and Removals
// describe the modes that were compared; Costs has the values.
type CostByParts struct {
	Mode     string      `json:"mode"`
	Baseline string      `json:"baseline"`
	Modes    []PartMode  `json:"rungs"`
	Removals []PartMode  `json:"removals,omitempty"`
	Costs    []PartCosts `json:"costs"`
	// Explanations say why the mode is slower than the baseline, for each workload. Only a cost by parts
	// of modes that were measured as they are has them.
	Explanations []Explanation `json:"explanations,omitempty"`
}

// Parts of a path on a cluster.
const (
	PartServerPod = "server-pod" // the server is in a pod
	PartClientPod = "client-pod" // the client is in a pod
	PartPods      = "pods"       // both are, on one node
	PartTunnel    = "tunnel"     // what is between the nodes
	PartService   = "service"    // a service's address or port
	PartSidecars  = "sidecars"   // containers that the cluster adds to the pods
	PartCPULimit  = "cpu-limit"  // a limit on the CPUs of the endpoints
)

// ExplanationKind is the kind of cause that a run shows.
type ExplanationKind string

// The kinds of explanations.
const (
	ExplainedNone     ExplanationKind = "none"      // the mode is not slower
	ExplainedUnknown  ExplanationKind = "unknown"   // the run does not tell
	ExplainedPart     ExplanationKind = "part"      // the part that costs most, see [Explanation.Part]
	ExplainedCPULimit ExplanationKind = "cpu_limit" // the endpoints' CPU limit
	ExplainedMTU      ExplanationKind = "mtu"       // smaller packets, or longer ones than the path carries
	ExplainedLoss     ExplanationKind = "loss"      // packets are lost that the baseline does not lose
)

// Explanation is why a mode is slower than its baseline in one metric of a workload.
type Explanation struct {
	Workload string          `json:"workload"`
	Metric   string          `json:"metric"`
	Kind     ExplanationKind `json:"kind"`
	Part     string          `json:"part,omitempty"`
	// Text states it with the values that show it; Next says what removes it, or what would
	// tell more. Both are clauses without a full stop.
	Text string `json:"text"`
	Next string `json:"next"`
}

// PartMode is a mode with the part that it adds to the one before or, for a
// removal, lacks. Rest marks the step that contains everything that no part explains,
// Beyond a part that comes on top of the mode. Avoid says what to do to get the part's cost back.
// Reason says why the mode has no values.
type PartMode struct {
	Mode   string `json:"mode"`
	Part   string `json:"part,omitempty"`
	Title  string `json:"title,omitempty"`
	Avoid  string `json:"avoid,omitempty"`
	Rest   bool   `json:"rest,omitempty"`
	Beyond bool   `json:"beyond,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// PartCosts is the cost of the parts in one metric of a workload. A rate is converted to
// the time that it leaves for one unit, because times of parts can be added: Unit is
// s/transaction, s/connection or s/Gbit, and for a CPU cost its own.
type PartCosts struct {
	Workload string  `json:"workload"`
	Metric   string  `json:"metric"`
	Unit     string  `json:"unit"`
	Baseline *Amount `json:"baseline,omitempty"`
	// Whole is what the mode costs more than the baseline.
	Whole *Amount    `json:"whole,omitempty"`
	Steps []PartCost `json:"steps"`
	// Removals are what the mode saves without one part.
	Removals []PartCost `json:"removals,omitempty"`
}

// Amount is a mean over N blocks, with its 95 % t interval if there are two or more.
type Amount struct {
	Value float64   `json:"value"`
	CI    *Interval `json:"ci,omitempty"`
	N     int       `json:"n"`
}

// PartCost is what parts cost: the mean over the blocks of the difference between the modes
// with and without them. Parts has several if a mode between has no values.
type PartCost struct {
	Parts   []string `json:"parts"`
	With    string   `json:"with"`
	Without string   `json:"without"`
	Cost    *Amount  `json:"cost,omitempty"`
	// Share is Cost as a share of the baseline's own value.
	Share   *float64  `json:"share,omitempty"`
	ShareCI *Interval `json:"share_ci,omitempty"`
	// Verdict is about the ratio of With to Without in the metric, as in [Comparison]: worse
	// means that the part costs.
	Ratio   *float64  `json:"ratio,omitempty"`
	RatioCI *Interval `json:"ratio_ci,omitempty"`
	Verdict Verdict   `json:"verdict,omitempty"`
	Rest    bool      `json:"rest,omitempty"`
	Beyond  bool      `json:"beyond,omitempty"`
	// Interaction, of a removal, is what the part costs as a step minus what
	// removing it saves, if the two differ (Holm-adjusted over the removals, 5 %): the cost
	// of the part depends on the others.
	Interaction *Amount `json:"interaction,omitempty"`
	// Sampled is the difference of With and Without in the components of sampled CPU time
	// that belong to the part, in Unit; Contradicts says in words that it does not fit Cost.
	Sampled     *float64 `json:"sampled,omitempty"`
	Contradicts string   `json:"contradicts,omitempty"`
}
