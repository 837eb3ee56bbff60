package result

// CostPassID is the workload name of the trials and cells of the cost pass.
const CostPassID = "cost_pass"

// CostPass describes the pass in which every mode has the same load, so that CPU use can
// be compared: the load, and how it was chosen.
type CostPass struct {
	Asked    string  `json:"asked"`              // requested by the study: auto or a rate
	Kind     string  `json:"kind,omitempty"`     // of its trials: tcp_stream or udp_stream
	Rate     float64 `json:"rate,omitempty"`     // offered payload, bit/s; absent while unknown
	Of       string  `json:"of,omitempty"`       // of a chosen rate: the slowest mode; the rate is half of its rate
	Workload string  `json:"workload,omitempty"` // in which that rate was measured
	Block    int     `json:"block,omitempty"`    // after which the rate was chosen
	Missing  string  `json:"missing,omitempty"`  // why there is no pass
}

// LinkLimited is a bulk workload in which every mode reached the capacity of the link:
// goodput then does not show the overhead of the modes, but the CPU cost does.
type LinkLimited struct {
	Workload string  `json:"workload"`
	Link     float64 `json:"link"`    // the link's rate, bit/s
	Payload  float64 `json:"payload"` // maximum payload that it carries, bit/s
	Least    float64 `json:"least"`   // share of Payload that the slowest mode reached, 0..1
}
