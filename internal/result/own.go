package result

// OwnShare is what the generator itself adds to each exchange of a workload, and the ratios without it. It is a constant in both
// sides of a ratio, which is nearer to 1 by it. Seconds and Share are absent where they are unknown.
type OwnShare struct {
	Workload string  `json:"workload"`
	Baseline string  `json:"baseline"`
	Seconds  float64 `json:"seconds,omitempty"` // for each exchange, median over the baseline's trials
	Share    float64 `json:"share,omitempty"`   // of an exchange of the baseline, 0..1
	// Overlapping says that the exchanges of several flows overlap: Share is then that of the client's time, and no ratio follows from it.
	Overlapping bool       `json:"overlapping,omitempty"`
	Modes       []OwnRatio `json:"modes,omitempty"`
}

// OwnRatio is the ratio of the rate of exchanges of a mode to that of the baseline, without what the generator adds to both.
type OwnRatio struct {
	Mode  string  `json:"mode"`
	Ratio float64 `json:"ratio"`
}
