package result

// OwnShare is what the generator itself adds to each exchange of a workload, and the ratios without it. It is a constant in both
// sides of a ratio, which is nearer to 1 by it.
type OwnShare struct {
	Workload string     `json:"workload"`
	Baseline string     `json:"baseline"`
	Seconds  float64    `json:"seconds"` // for each exchange, median over the baseline's trials
	Share    float64    `json:"share"`   // of an exchange of the baseline, 0..1
	Modes    []OwnRatio `json:"modes"`
}

// OwnRatio is the ratio of the transaction rate of a mode to that of the baseline, without what the generator adds to both.
type OwnRatio struct {
	Mode  string  `json:"mode"`
	Ratio float64 `json:"ratio"`
}
