package result

// SetupTime is the distribution of a metric of set-ups of a mode, or of a step of them: each valid trial is one set-up,
// with one value.
type SetupTime struct {
	Mode     string     `json:"mode"`
	Workload string     `json:"workload"`
	Metric   string     `json:"metric,omitempty"`
	Step     string     `json:"step,omitempty"` // in place of Metric, as in [Trial].SetupSteps
	Setups   int        `json:"setups"`
	P50      Percentile `json:"p50"`
	P90      Percentile `json:"p90"`
}

// Percentile is a percentile of a sample, with its interval at 95 % by order statistics. A limit is nil
// if the sample is too small for it.
type Percentile struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
}
