package result

// CostPassID is what the trials and cells of the fixed-rate pass have for a workload.
const CostPassID = "cost_pass"

// CostPass is the pass in which every mode had the same load, so that CPU use can be
// compared: what its trials offered, and from what that was chosen.
type CostPass struct {
	Asked    string  `json:"asked"`              // as the study asked for it: auto or a rate
	Kind     string  `json:"kind,omitempty"`     // what its trials are: tcp_stream or udp_stream
	Rate     float64 `json:"rate,omitempty"`     // offered payload, bit/s; absent while unknown
	Of       string  `json:"of,omitempty"`       // of a chosen rate: the slowest mode, of which it is half
	Workload string  `json:"workload,omitempty"` // and in which workload it was
	Block    int     `json:"block,omitempty"`    // and after which block
	Missing  string  `json:"missing,omitempty"`  // why there is no pass
}

// LinkLimited is a bulk workload in which every mode reached what the link can carry:
// their goodput then says nothing of what they cost, and the CPU cost does.
type LinkLimited struct {
	Workload string  `json:"workload"`
	Link     float64 `json:"link"`    // the link's rate, bit/s
	Payload  float64 `json:"payload"` // the most payload that it carries so, bit/s
	Least    float64 `json:"least"`   // what the slowest mode reached of that, ratio 0..1
}
